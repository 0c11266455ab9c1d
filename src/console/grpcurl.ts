import { create, type DescMethod, type DescMethodUnary, type MessageInitShape, toJsonString } from "@bufbuild/protobuf";
import { tokenUsed } from "./session.js";

/** The shell command that makes the same call from a terminal. The token is a variable there, never its text. */
export function grpcurl<Method extends DescMethod>(
  method: Method,
  request: MessageInitShape<Method["input"]>,
  { protocol, host }: Pick<Location, "protocol" | "host"> = location,
): string {
  const message = create(method.input, request as MessageInitShape<DescMethodUnary["input"]>);
  const json = toJsonString(method.input, message, { useProtoFieldName: true });
  const secure = protocol === "https:";
  const words = ["grpcurl"];
  if (!secure) words.push("-plaintext");
  if (tokenUsed.value) words.push('-H "Authorization: Bearer $HARNESS_TOKEN"');
  words.push("-d", quote(json), /:\d+$/.test(host) ? host : `${host}:${secure ? 443 : 80}`);
  return [...words, `${method.parent.typeName}/${method.name}`].join(" ");
}

/** One word for any shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
