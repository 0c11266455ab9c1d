import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { Attachment, Content } from "../../../gen/ts/harnessruntime/v1/content_pb.js";
import type { HistoryItem } from "../../core/provider.js";
import type { AgentInfo } from "./agent-info.js";
import { agentError } from "./failure.js";

/** Returns an input in the protocol's form. Throws where the agent cannot take one of its attachments. */
export function toPrompt(input: Content, info: AgentInfo): ContentBlock[] {
  const text: ContentBlock[] =
    input.text === "" && input.attachments.length > 0 ? [] : [{ type: "text", text: input.text }];
  return [...text, ...input.attachments.map((attachment) => toBlock(attachment, info))];
}

function toBlock({ mediaType, name, source }: Attachment, info: AgentInfo): ContentBlock {
  if (source.case === "uri") {
    return { type: "resource_link", uri: source.value, name: name || source.value, mimeType: mediaType };
  }
  const bytes = Buffer.from(source.value ?? new Uint8Array());
  if (mediaType.startsWith("image/") && info.image) {
    return { type: "image", data: bytes.toString("base64"), mimeType: mediaType };
  }
  const isText = mediaType.startsWith("text/") || mediaType === "application/json";
  if (info.embeddedContext) return toResource(bytes, mediaType, name, isText);
  if (isText) return { type: "text", text: `${name || "Attachment"}:\n${bytes.toString("utf8")}` };
  throw agentError(
    "input_unsupported",
    `the agent does not take inline attachments of type ${mediaType}: put the file in the workspace and name it in the text, or give its URI`,
  );
}

function toResource(bytes: Buffer, mimeType: string, name: string, isText: boolean): ContentBlock {
  const uri = `attachment:///${encodeURIComponent(name || "attachment")}`;
  const content = isText ? { text: bytes.toString("utf8") } : { blob: bytes.toString("base64") };
  return { type: "resource", resource: { uri, mimeType, ...content } };
}

/** What a resumed attempt asks, where the turn's own input was sent before the crash and must not be sent again. */
export const CONTINUE_PROMPT =
  "You were interrupted before you had finished with the last request. Look at what is already done, do what is missing " +
  "without doing anything twice, and then give your answer.";

const HISTORY_CHARACTERS = 100_000;

/** Tells an agent that cannot load the session what was said in it; undefined where nothing was. */
export function historyPrompt(history: readonly HistoryItem[]): ContentBlock | undefined {
  if (history.length === 0) return undefined;
  const said = history.map(({ role, content }) => `${role === "user" ? "User" : "You"}: ${content.text}`).join("\n\n");
  const recent = said.length <= HISTORY_CHARACTERS ? said : `…${said.slice(-HISTORY_CHARACTERS)}`;
  return {
    type: "text",
    text: `What was said in this conversation before:\n\n${recent}\n\nThe next message continues it.`,
  };
}
