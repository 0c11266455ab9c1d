import { readFileSync } from "node:fs";
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { SupportLevel } from "../../../gen/ts/harnessruntime/v1/provider_pb.js";
import { PRESETS, type PresetName } from "../../../src/providers/acp/presets.js";
import { acpProvider } from "../../../src/providers/acp/provider.js";
import { parseAcpSettings, resolveSettings } from "../../../src/providers/acp/settings.js";
import { SETTINGS_SCHEMA } from "../../../src/providers/acp/settings-schema.js";

const page = readFileSync(new URL("../../../docs/providers/acp.md", import.meta.url), "utf8");
const configurations = Array.from(
  page.matchAll(/```yaml\n(.*?)```/gs),
  ([, text = ""]) => parse(text) as Configuration,
);

interface Configuration {
  readonly providers: { readonly acp: Readonly<Record<string, JsonObject>> };
}

describe("docs/providers/acp.md", () => {
  test.each(configurations.flatMap(({ providers }) => Object.entries(providers.acp)))(
    "the configuration of %s is one",
    (_, json) => {
      expect(() => parseAcpSettings(json)).not.toThrow();
    },
  );

  test("has every setting, and the defaults of the limits", () => {
    const properties = SETTINGS_SCHEMA["properties"] as Record<string, JsonObject>;
    const nested = ["limits", "mcp"].flatMap((name) => {
      return Object.keys((properties[name]?.["properties"] ?? {}) as JsonObject).map((key) => `${name}.${key}`);
    });
    const keys = [...Object.keys(properties).filter((name) => name !== "limits" && name !== "mcp"), ...nested];
    expect(keys.filter((key) => !page.includes(`\`${key}\``))).toEqual([]);
    const { limits } = resolveSettings({ agent: "gemini" });
    for (const [name, value] of Object.entries(limits)) {
      const key = `limits.${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;
      const row = page.split("\n").find((line) => line.startsWith("|") && line.includes(`\`${key}\``));
      expect(row, key).toMatch(new RegExp(`\\b${value}\\b`));
    }
  });

  test("shows the levels that each preset declares", () => {
    const [, measured = ""] = page.split("## What is measured");
    const rows = Array.from(measured.matchAll(/^\| `([a-z]+\.[a-z_]+)` \| ([A-Z]+)/gm), ([, name = "", level]) => [
      name,
      level,
    ]);
    expect(rows.length).toBeGreaterThan(10);
    for (const agent of Object.keys(PRESETS) as PresetName[]) {
      const { capabilities } = acpProvider({ agent }).manifest;
      expect(rows).toEqual(rows.map(([name = ""]) => [name, SupportLevel[capabilities[name] ?? 0]]));
    }
  });

  test("says of each preset how to install it, what it is given and which version was tried", () => {
    const locked = JSON.parse(readFileSync(new URL("../../agents/package.json", import.meta.url), "utf8"));
    for (const version of Object.values(locked.dependencies)) expect(page).toContain(`${version}`);
    for (const { install, inheritEnv } of Object.values(PRESETS)) {
      expect(page).toContain(`\`${install}\``);
      const hidden = /^OPENCODE_DISABLE/;
      expect(inheritEnv.filter((name) => !hidden.test(name) && !page.includes(`\`${name}\``))).toEqual([]);
    }
  });
});
