import { pino, stdTimeFunctions } from "pino";
import { type Log as LogConfig, LogFormat, LogLevel } from "../../../gen/ts/harnessruntime/config/v1/config_pb.js";
import type { Log } from "../../core/provider.js";
import { printable } from "../terminal/printable.js";

/** Makes the log of this process: lines on standard error, written at once. */
export function createLog({ level, format }: Pick<LogConfig, "level" | "format">): Log {
  const asText = format === LogFormat.TEXT || (format === LogFormat.UNSPECIFIED && process.stderr.isTTY);
  const logger = pino(
    {
      level: LogLevel[level].toLowerCase(),
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      ...(asText ? { hooks: { streamWrite: toTextLine } } : {}),
    },
    pino.destination({ fd: 2, sync: true }),
  );
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
  };
}

/** Turns a JSON line into `10:00:00 warn  message key=value`. */
export function toTextLine(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const facts = Object.entries(fields).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `${printable([String(time).slice(11, 19), String(level).padEnd(5), msg, ...facts].join(" "))}\n`;
}
