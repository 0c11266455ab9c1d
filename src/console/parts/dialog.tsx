import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

export interface DialogProps {
  readonly title: string;
  /** Whether the title is only read aloud. Default false. */
  readonly bare?: boolean;
  readonly class?: string;
  onClose(): void;
  readonly children: ComponentChildren;
}

/** A modal dialog: the browser's own keeps the focus inside, closes on Escape and gives the focus back. */
export function Dialog({ title, bare = false, class: name = "", onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // At once, not after the next frame: what is typed next is meant for the dialog.
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the browser closes it on Escape
    <dialog
      ref={element}
      class={`dialog ${name}`}
      aria-labelledby={titleId}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div class="dialog-body">
        <h2 id={titleId} class={bare ? "sr-only" : ""} dir="auto">
          {title}
        </h2>
        {children}
      </div>
    </dialog>
  );
}
