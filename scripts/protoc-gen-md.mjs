#!/usr/bin/env node
// @ts-check
// A protoc plugin: writes docs/reference/ from the contract's comments, one page for each file and an index.
// `npm run generate` calls it through buf.
import { dirname, relative } from "node:path/posix";
import { ScalarType } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { createEcmaScriptPlugin, getComments, runNodeJs } from "@bufbuild/protoplugin";

/** @import { AnyDesc, DescEnum, DescField, DescFile, DescMessage, DescMethod, DescService } from "@bufbuild/protobuf" */

const ROOT = "harnessruntime/";
const NOTE = "<!-- Generated from proto/ by `npm run generate`. Edit the comments there. -->";

const plugin = createEcmaScriptPlugin({
  name: "protoc-gen-md",
  version: "v1",
  generateTs({ files, generateFile }) {
    for (const file of files) {
      write(generateFile(pagePath(file)), page(file));
    }
    write(generateFile("README.md"), index(files));
  },
  transpile: () => {
    throw new Error("protoc-gen-md writes Markdown only: set target=ts");
  },
});

/** @param {import("@bufbuild/protoplugin").GeneratedFile} file @param {readonly string[]} lines */
function write(file, lines) {
  const text = lines.join("\n").replaceAll(/\n{3,}/g, "\n\n");
  for (const line of text.trimEnd().split("\n")) file.print(line);
}

/** @param {DescFile} file */
function pagePath(file) {
  return `${file.name.slice(ROOT.length)}.md`;
}

/** @param {readonly DescFile[]} files */
function index(files) {
  const services = files.flatMap((file) => file.services);
  const event = files.flatMap((file) => file.messages).find(({ typeName }) => typeName === "harnessruntime.v1.Event");
  return [
    NOTE,
    "",
    "# Reference of the contract",
    "",
    "The contract is the Protobuf files in [`proto/`](../../proto); these pages are their comments.",
    "",
    ...services.flatMap((service) => methodIndex(service)),
    ...(event ? eventIndex(event) : []),
    "## Pages",
    "",
    ...files.map((file) => `- [\`${file.name}.proto\`](${pagePath(file)}): ${contents(file)}`),
  ];
}

/** @param {DescService} service */
function methodIndex(service) {
  const page = pagePath(service.file);
  return [
    `## ${service.typeName}`,
    "",
    ...paragraphs(service),
    "",
    "| method | kind | what it does |",
    "| --- | --- | --- |",
    ...service.methods.map((method) => {
      const link = `[\`${method.name}\`](${page}#${anchor(method.name)})`;
      return `| ${link} | ${kind(method)} | ${cell(paragraphs(method)[0] ?? "")} |`;
    }),
    "",
  ];
}

/** The table of the events' dotted names. @param {DescMessage} event */
function eventIndex(event) {
  const cases = event.oneofs.flatMap((oneof) => oneof.fields);
  return [
    "## Events",
    "",
    "A dotted name is the name of the payload's case with each `_` replaced by `.`, and back.",
    "",
    "| dotted name | case of `Event.payload` | message |",
    "| --- | --- | --- |",
    ...cases.map(
      (field) => `| \`${field.name.replaceAll("_", ".")}\` | \`${field.name}\` | ${type(field, "README.md")} |`,
    ),
    "",
  ];
}

/** @param {DescFile} file */
function contents(file) {
  return [...file.services, ...file.messages, ...file.enums].map(({ name }) => `\`${name}\``).join(", ");
}

/** @param {DescFile} file */
function page(file) {
  return [
    NOTE,
    "",
    `# ${file.name}.proto`,
    "",
    `Package \`${file.proto.package}\`. [All pages](${relative(dirname(pagePath(file)), "README.md")})`,
    "",
    ...file.services.flatMap(serviceSection),
    ...file.messages.flatMap(messageSection),
    ...file.enums.flatMap(enumSection),
  ];
}

/** @param {DescService} service */
function serviceSection(service) {
  return [`## ${service.name}`, "", ...spaced(paragraphs(service)), ...service.methods.flatMap(methodSection)];
}

/** @param {DescMethod} method */
function methodSection(method) {
  const from = pagePath(method.parent.file);
  const facts = [kind(method), idempotency(method)].filter((fact) => fact !== "").join(", ");
  return [
    `### ${method.name}`,
    "",
    `${link(method.input, from)} → ${link(method.output, from)} (${facts})`,
    "",
    ...spaced(paragraphs(method)),
  ];
}

/** @param {DescMethod} method */
function kind(method) {
  return method.methodKind.replace("_", " ").replace("bidi streaming", "bidi stream").replace("streaming", "stream");
}

/** @param {DescMethod} method */
function idempotency(method) {
  if (method.idempotency === Idempotency.NO_SIDE_EFFECTS) return "no side effects";
  return method.idempotency === Idempotency.IDEMPOTENT ? "idempotent" : "";
}

/** @param {DescMessage} message @returns {string[]} */
function messageSection(message) {
  const rows = message.members.flatMap((member) =>
    member.kind === "oneof" ? [oneofRow(member), ...member.fields.map(fieldRow)] : [fieldRow(member)],
  );
  const table =
    rows.length === 0 ? ["It has no fields.", ""] : ["| field | type | |", "| --- | --- | --- |", ...rows, ""];
  return [`## ${message.name}`, "", ...spaced(paragraphs(message)), ...table];
}

/** @param {import("@bufbuild/protobuf").DescOneof} oneof */
function oneofRow(oneof) {
  return `| **${oneof.name}** | one of | ${cell(...paragraphs(oneof))} |`;
}

/** @param {DescField} field */
function fieldRow(field) {
  const name = field.oneof ? `&nbsp;&nbsp;\`${field.name}\` = ${field.number}` : `\`${field.name}\` = ${field.number}`;
  const optional = field.proto.proto3Optional ? "optional " : "";
  return `| ${name} | ${optional}${type(field, pagePath(field.parent.file))} | ${cell(...paragraphs(field))} |`;
}

/** @param {DescEnum} enumeration */
function enumSection(enumeration) {
  const rows = enumeration.values.map(
    (value) => `| \`${value.name}\` = ${value.number} | ${cell(...paragraphs(value))} |`,
  );
  return [
    `## ${enumeration.name}`,
    "",
    ...spaced(paragraphs(enumeration)),
    "| value | |",
    "| --- | --- |",
    ...rows,
    "",
  ];
}

/** A field's type, linked from the page `from`. @param {DescField} field @param {string} from */
function type(field, from) {
  if (field.fieldKind === "map") return `map of ${scalar(field.mapKey)} to ${single(field, from)}`;
  return `${field.fieldKind === "list" ? "repeated " : ""}${single(field, from)}`;
}

/** @param {DescField} field @param {string} from */
function single(field, from) {
  if (field.message) return link(field.message, from);
  if (field.enum) return link(field.enum, from);
  return field.scalar === undefined ? "" : scalar(field.scalar);
}

/** @param {ScalarType} value */
function scalar(value) {
  return ScalarType[value].toLowerCase();
}

/** @param {DescMessage | DescEnum} desc @param {string} from */
function link(desc, from) {
  if (!desc.file.name.startsWith(ROOT)) return `\`${desc.typeName}\``;
  const page = relative(dirname(from), pagePath(desc.file));
  return `[${desc.name}](${pagePath(desc.file) === from ? "" : page}#${anchor(desc.name)})`;
}

/** @param {string} heading */
function anchor(heading) {
  return heading.toLowerCase();
}

/** The comment's paragraphs, each on one line; indented ones stay as they are. @param {Exclude<AnyDesc, DescFile>} desc */
function paragraphs(desc) {
  const text = (getComments(desc).leading ?? "").replaceAll(/^ /gm, "").trim();
  return text.split(/\n\s*\n/).map((part) => (part.startsWith("    ") ? part : part.replaceAll("\n", " ")));
}

/** @param {readonly string[]} parts */
function spaced(parts) {
  return parts.flatMap((part) => [part, ""]);
}

/** @param {readonly string[]} parts */
function cell(...parts) {
  return parts.join("<br>").replaceAll("|", "\\|");
}

runNodeJs(plugin);
