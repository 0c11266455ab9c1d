import { fields, type Item, type Json, type ModelRequest, type Tool } from "./request.js";

/** What the model does in one of its turns, step by step: a verb and its argument. */
export interface Step {
  readonly verb: string;
  readonly argument: string;
}

/** A call of a tool that a request offers. */
export interface ToolCall {
  readonly name: string;
  readonly namespace: string | undefined;
  /** Undefined for a tool that takes text. */
  readonly args: Json | undefined;
  readonly input: string;
}

/**
 * Returns the steps of the model's next turn. The script is in the prompt: each
 * line that starts with `@model` is a turn, one with `@model+` goes on with the
 * turn before, and `@model new` forgets the lines above it. The server keeps
 * nothing: the turn to play is the number of model turns after that prompt.
 * After the last one, and without a script, it is "ok: " and the last tool
 * result, or the prompt.
 */
export function nextTurn(request: ModelRequest): readonly Step[] {
  if (request.schema !== undefined) return [{ verb: "json", argument: "" }];
  const { turns, after } = findScript(request.items);
  const steps = turns[countModelTurns(after)];
  if (request.tools.length === 0 && !isForPeople(request, steps)) return [{ verb: "text", argument: "A title" }];
  return steps ?? [{ verb: "text", argument: `ok: ${lastWords(request.items)}` }];
}

/** A request that offers no tools is mostly for a title or a summary, and not the script's. */
function isForPeople({ system, items }: ModelRequest, steps: readonly Step[] | undefined): boolean {
  const prompt = items.findLast(({ role }) => role === "user")?.text.split("@model")[0] ?? "";
  if (steps === undefined || /title|summar/i.test(system + prompt)) return false;
  return steps.every(({ verb }) => ["text", "think", "slow", "rest"].includes(verb));
}

/** The last prompt with a script, and what came after it. */
function findScript(items: readonly Item[]): { turns: Step[][]; after: readonly Item[] } {
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index];
    const turns = item?.role === "user" ? parseScript(item.text) : [];
    if (turns.length > 0) return { turns, after: items.slice(index + 1) };
  }
  return { turns: [], after: [] };
}

function parseScript(text: string): Step[][] {
  const turns: Step[][] = [];
  for (const line of text.split("\n")) {
    const [, plus, verb, argument = ""] = /^\s*@model(\+?)\s+(\S+)\s?(.*?)\s*$/.exec(line) ?? [];
    if (verb === undefined) continue;
    if (verb === "new") turns.length = 0;
    else if (plus === "+") turns.at(-1)?.push({ verb, argument });
    else turns.push([{ verb, argument }]);
  }
  return turns;
}

/** Items of the model in a row are one turn. */
function countModelTurns(items: readonly Item[]): number {
  return items.filter((item, index) => item.role === "model" && items[index - 1]?.role !== "model").length;
}

function lastWords(items: readonly Item[]): string {
  const result = items.findLast(({ role }) => role === "tool")?.text;
  const prompt = items.findLast(({ role }) => role === "user")?.text.replace(/@model.*/gs, "") ?? "";
  return (result || prompt).replaceAll(/\s+/g, " ").trim().slice(0, 200);
}

/** The names that agents give to tools of a kind. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  shell: [
    ...["bash", "run_shell_command", "shell_command", "exec_command", "shell", "local_shell", "run_commands"],
    ...["execute_command", "terminal", "run_terminal_command"],
  ],
  write: ["write", "write_file", "write_to_file", "create_file", "editor", "create", "apply_patch"],
  read: ["read", "read_file", "view", "read_files", "open_file"],
  plan: ["todowrite", "todo_write", "write_todos", "update_plan", "TodoWrite", "todo"],
};

/** Returns the call for a step, fitted to the tool that the request offers; undefined where it offers none. */
export function toolCallFor({ verb, argument }: Step, { tools }: ModelRequest): ToolCall | undefined {
  if (verb === "tool" || verb === "mcp") return namedCall(verb, argument, tools);
  const kind = verb === "boxed" ? "shell" : verb;
  const tool = NAMES[kind]?.map((name) => tools.find((offered) => offered.name === name)).find(Boolean);
  if (tool === undefined) return undefined;
  const call = { name: tool.name, namespace: tool.namespace, input: "" };
  if (kind === "shell") return { ...call, args: shellArgs(tool, argument, verb === "shell") };
  if (kind === "write") return { ...call, ...writeArgs(tool, argument) };
  if (kind === "read") return { ...call, args: readArgs(tool, argument) };
  return { ...call, args: planArgs(tool, argument) };
}

/** `NAME {json}`; for `mcp` the end of a name is enough. */
function namedCall(verb: string, argument: string, tools: readonly Tool[]): ToolCall {
  const [, name = argument, json = "{}"] = /^(\S+)\s*(\{.*\})?$/s.exec(argument) ?? [];
  const found = tools.find((tool) => (verb === "mcp" ? tool.name.endsWith(name) : tool.name === name));
  return { name: found?.name ?? name, namespace: found?.namespace, args: JSON.parse(json) as Json, input: "" };
}

function pick(tool: Tool, ...names: readonly [string, ...string[]]): string {
  return names.find((name) => name in properties(tool)) ?? names[0];
}

function properties(tool: Tool): Json {
  return fields(tool.params["properties"]);
}

/** `escalate` asks to leave the agent's sandbox where that is offered, so that a permission is asked for. */
function shellArgs(tool: Tool, command: string, escalate: boolean): Json {
  const key = pick(tool, "command", "cmd", "commands", "script");
  const isList = fields(properties(tool)[key])["type"] === "array";
  const words = key === "commands" ? [command] : ["bash", "-lc", command];
  const required: readonly unknown[] = Array.isArray(tool.params["required"]) ? tool.params["required"] : [];
  const wanted: Json = {
    description: "a command of the test",
    is_background: false,
    requires_approval: true,
    timeout: 60_000,
  };
  const needed = Object.entries(wanted).filter(([name]) => required.includes(name));
  const escalations: Json = {
    ...("sandbox_permissions" in properties(tool) ? { sandbox_permissions: "require_escalated" } : {}),
    ...("with_escalated_permissions" in properties(tool) ? { with_escalated_permissions: true } : {}),
  };
  const asks = escalate && Object.keys(escalations).length > 0;
  return {
    [key]: isList ? words : command,
    ...Object.fromEntries(needed),
    ...(asks ? { ...escalations, justification: "the test asks for it" } : {}),
  };
}

/** `PATH :: CONTENT`, with `\n` for a line break. */
function writeArgs(tool: Tool, argument: string): Pick<ToolCall, "args" | "input"> {
  const [path = "", ...rest] = argument.split(" :: ");
  const content = rest.join(" :: ").replaceAll("\\n", "\n");
  if (tool.name === "apply_patch") {
    const lines = content.split("\n").map((line) => `+${line}`);
    const patch = ["*** Begin Patch", `*** Add File: ${path}`, ...lines, "*** End Patch", ""].join("\n");
    return tool.custom ? { args: undefined, input: patch } : { args: { input: patch }, input: "" };
  }
  const pathKey = pick(tool, "filePath", "file_path", "absolutePath", "path");
  const contentKey = pick(tool, "content", "file_text", "contents", "new_text");
  const command = tool.name === "editor" ? { command: "create" } : {};
  return { args: { ...command, [pathKey]: path, [contentKey]: content }, input: "" };
}

function readArgs(tool: Tool, path: string): Json {
  const key = pick(tool, "filePath", "file_path", "absolute_path", "path", "files");
  const { type, items } = fields(properties(tool)[key]);
  if (type !== "array") return { [key]: path };
  return { [key]: [fields(items)["type"] === "object" ? { path } : path] };
}

/** `A | B | C`: A is in progress. */
function planArgs(tool: Tool, argument: string): Json {
  const key = pick(tool, "todos", "plan", "items");
  const entry = fields(fields(fields(properties(tool)[key])["items"])["properties"]);
  const textKey = ["content", "step", "description"].find((name) => name in entry) ?? "content";
  const entries = argument.split("|").map((text, index) => ({
    [textKey]: text.trim(),
    status: index === 0 ? "in_progress" : "pending",
    ...("priority" in entry ? { priority: "medium" } : {}),
    ...("id" in entry ? { id: String(index + 1) } : {}),
    ...("activeForm" in entry ? { activeForm: text.trim() } : {}),
  }));
  return { [key]: entries };
}

/** Returns the smallest value that fits a JSON Schema. */
export function sampleOf(schema: Json): unknown {
  const { const: constant, enum: choices, type, properties: members, minimum } = schema;
  if (constant !== undefined) return constant;
  if (Array.isArray(choices)) return choices.includes("user") ? "user" : choices[0];
  const kind = String(
    Array.isArray(type) ? type[0] : (type ?? (members === undefined ? "string" : "object")),
  ).toLowerCase();
  const samples: Readonly<Record<string, () => unknown>> = {
    object: () =>
      Object.fromEntries(Object.entries(fields(members)).map(([name, inner]) => [name, sampleOf(fields(inner))])),
    array: () => [],
    number: () => minimum ?? 1,
    integer: () => minimum ?? 1,
    boolean: () => false,
  };
  return samples[kind]?.() ?? "sample";
}
