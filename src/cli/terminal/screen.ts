import { printable } from "./printable.js";
import { paint, type Style, type Target } from "./style.js";

/** Standard output and standard error, which may be one terminal: a line of the one never begins in the middle of the other's. */
export interface Screen {
  /** Writes text that may go on. Control characters are left out on a terminal. */
  write(target: Target, text: string, style?: Style): void;
  /** Writes a whole line to standard error. */
  line(text: string): void;
  /** Says whether a question of somebody else's is what stands on standard error's last line. */
  question(stands: boolean): void;
  /** Ends what was written last. */
  end(): void;
}

/** Makes the screen of this process. */
export function createScreen(): Screen {
  const unfinished: Record<Target, boolean> = { stdout: false, stderr: false };

  const finish = (target: Target): void => {
    if (unfinished[target]) process[target].write("\n");
    unfinished[target] = false;
  };
  /** Where standard output is a file its text goes on as if nothing had come between. */
  const leave = (target: Target): void => {
    if (target === "stderr" || process.stdout.isTTY) finish(target);
  };
  const write = (target: Target, text: string, style?: Style): void => {
    if (text === "") return;
    leave(target === "stdout" ? "stderr" : "stdout");
    const shown = process[target].isTTY ? printable(text) : text;
    process[target].write(style === undefined ? shown : paint(style, shown, target));
    unfinished[target] = !text.endsWith("\n");
  };
  return {
    write,
    line(text) {
      leave("stdout");
      finish("stderr");
      process.stderr.write(`${text}\n`);
    },
    question(stands) {
      unfinished.stderr = stands;
    },
    end() {
      finish("stdout");
      finish("stderr");
    },
  };
}
