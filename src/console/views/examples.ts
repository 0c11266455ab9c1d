import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Provider } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { isObject } from "../forms/field.js";

/** What a provider proposes to try. */
export interface Example {
  readonly title: string;
  readonly input: string;
  readonly config: JsonObject;
}

/** The `examples` of a manifest's metadata: objects with `title`, `input` and `config`. What is none is left out. */
export function examplesOf({ manifest }: Pick<Provider, "manifest">): readonly Example[] {
  const examples = manifest?.metadata?.["examples"];
  return Array.isArray(examples) ? examples.flatMap(exampleOf) : [];
}

function exampleOf(value: JsonValue): readonly Example[] {
  if (!isObject(value) || typeof value["title"] !== "string") return [];
  const { title, input, config } = value;
  return [
    { title: title as string, input: typeof input === "string" ? input : "", config: isObject(config) ? config : {} },
  ];
}
