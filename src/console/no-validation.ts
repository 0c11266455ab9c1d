import type { GenFile } from "@bufbuild/protobuf/codegenv2";
import { fileDesc } from "@bufbuild/protobuf/codegenv2";

/**
 * Stands for `buf/validate/validate.proto` in the console: the rules in the
 * contract are the server's to check, and what describes them would be an eighth
 * of all that the browser loads. Empty, but for its name and package.
 */
export const file_buf_validate_validate: GenFile = fileDesc(
  "ChtidWYvdmFsaWRhdGUvdmFsaWRhdGUucHJvdG8SDGJ1Zi52YWxpZGF0ZQ==",
);
