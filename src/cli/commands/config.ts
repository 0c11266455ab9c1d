import { EXIT } from "../cli-error.js";
import { toShown } from "../config/settings.js";
import { type ConfigOptions, configOf } from "../server-options.js";
import { paint } from "../terminal/style.js";
import { table } from "../terminal/table.js";

/** Prints every value of the configuration in force, and where it was set. */
export async function config(options: ConfigOptions & { readonly json?: true }): Promise<number> {
  const { settings } = await configOf(options);
  if (options.json) {
    for (const setting of settings) {
      const { path, value, where } = setting;
      const shown = typeof value === "string" ? toShown(setting) : value;
      process.stdout.write(`${JSON.stringify({ key: path.join("."), value: shown, where })}\n`);
    }
  } else {
    const rows = settings.map((setting) => {
      const { path, where } = setting;
      return [path.join("."), toShown(setting), where === "default" ? paint("dim", where) : where];
    });
    process.stdout.write(table(["KEY", "VALUE", "SET BY"], rows));
  }
  return EXIT.ok;
}
