import { signal } from "@preact/signals";
import { ErrorReason } from "../../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ContiguityError, toRpcError } from "../../client/errors.js";
import { isUnanswered } from "../session.js";
import { Icon } from "./icon.js";

interface Notice {
  readonly id: number;
  readonly tone: "good" | "bad";
  readonly text: string;
}

const notices = signal<readonly Notice[]>([]);
const SHOWN_MS = { good: 4_000, bad: 10_000 };
let count = 0;

/** Says something that just happened, for a while. */
export function notify(text: string, tone: Notice["tone"] = "good"): void {
  const notice: Notice = { id: count++, tone, text };
  notices.value = [...notices.value.slice(-2), notice];
  setTimeout(() => dismiss(notice), SHOWN_MS[tone]);
}

/** Says what went wrong. */
export function notifyError(error: unknown): void {
  notify(errorText(error), "bad");
}

/** An error in one line, with the server's own words and reason. */
export function errorText(error: unknown): string {
  if (error instanceof ContiguityError) return error.message;
  const { rawMessage: message, reason, violations } = toRpcError(error);
  if (isUnanswered(error)) return `The server does not answer: ${message || "no word of why"}`;
  const fields = violations.map(({ field, description }) => `${field}: ${description}`).join("; ");
  const name = reason === ErrorReason.UNSPECIFIED ? "" : ` (${ErrorReason[reason]})`;
  return `${fields === "" ? message : fields}${name}`;
}

/** What was just said, read aloud as well. */
export function Notices() {
  return (
    <div class="notices" role="status">
      {notices.value.map((notice) => (
        <div class={`notice ${notice.tone}`} key={notice.id}>
          <Icon name={notice.tone === "good" ? "check" : "bang"} />
          <span dir="auto">{notice.text}</span>
          <button type="button" class="quiet icon-only" aria-label="Dismiss" onClick={() => dismiss(notice)}>
            <Icon name="cross" />
          </button>
        </div>
      ))}
    </div>
  );
}

function dismiss({ id }: Notice): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}
