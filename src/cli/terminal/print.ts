import { type DescMessage, type MessageShape, toJsonString } from "@bufbuild/protobuf";

/** Writes a message as one line of ProtoJSON to standard output. */
export function printJson<D extends DescMessage>(schema: D, message: MessageShape<D>): void {
  process.stdout.write(`${toJsonString(schema, message)}\n`);
}

/** Writes messages to standard output: ProtoJSON, one a line, or the text for people. */
export function printList<D extends DescMessage>(
  schema: D,
  messages: readonly MessageShape<D>[],
  json: true | undefined,
  text: () => string,
): void {
  if (json) for (const message of messages) printJson(schema, message);
  else process.stdout.write(text());
}
