import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Containment, ContainmentReportSchema } from "../../../gen/ts/harnessruntime/v1/containment_pb.js";
import { messageOf } from "../../core/message-of.js";
import type { CleanupReport } from "../../core/provider.js";

/** What was found when a tree was ended. */
export type ContainmentResult = MessageInitShape<typeof ContainmentReportSchema> & {
  readonly level: Containment;
  /** Processes that are still alive, one description each. */
  readonly escaped: string[];
  /** What the ending itself ran into. */
  readonly error?: string;
};

/** What the runtime is told of a tree's end. Undefined: there was none. */
export function toCleanup(report: ContainmentResult | undefined): CleanupReport | undefined {
  if (report === undefined) return undefined;
  const { level, escaped, error } = report;
  const errors = [...(escaped.length === 0 ? [] : [`still running: ${escaped.join(", ")}`]), ...(error ? [error] : [])];
  return { containment: { level, escaped }, ...(errors.length === 0 ? {} : { error: errors.join("; ") }) };
}

/** The report where it is not known what is alive. */
export function couldNotList(cause: unknown): Pick<ContainmentResult, "escaped" | "error"> {
  return { escaped: ["not known"], error: `the processes could not be listed: ${messageOf(cause)}` };
}

/** How a report names a process. */
export function describeProcess({ name, pid }: { readonly name: string; readonly pid: number }): string {
  return `${name} (PID ${pid})`;
}
