import { describe, expect, test } from "vitest";
import { ErrorReason } from "../../gen/ts/harnessruntime/v1/errors_pb.js";
import { ExecutionState } from "../../gen/ts/harnessruntime/v1/execution_pb.js";
import type { ProviderContext, ProviderEvent } from "../../src/core/provider.js";
import { settle } from "./fake-clock.js";
import { aborted, gate, type Kit, only, openKit, provider } from "./kit.js";

function delta(text: string): ProviderEvent {
  return { case: "outputTextDelta", value: { text } } as ProviderEvent;
}

/** Emits as a provider does that holds on to what is refused: until it is stored. */
async function insist(context: ProviderContext, event: ProviderEvent): Promise<number> {
  for (let tries = 1; ; tries++) {
    try {
      await context.emit(event);
      return tries;
    } catch (error) {
      expect(error).toMatchObject({ reason: ErrorReason.STORE_UNAVAILABLE });
    }
  }
}

function refuse(kit: Kit, writes: number): void {
  let left = writes;
  kit.store.tamper = () => (left-- > 0 ? "refuse" : "pass");
}

describe("emit", () => {
  test("S02 text that is refused and emitted again is in the output once", async () => {
    let tries = 0;
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          await context.emit(delta("one "));
          refuse(kit, 2);
          tries = await insist(context, delta("two "));
          await context.emit(delta("three"));
        }),
      ],
    });
    const { id } = await kit.start();
    expect((await kit.over(id)).finalOutput).toBe("one two three");
    expect(only(await kit.events(id), "outputTextDone").text).toBe("one two three");
    expect(tries).toBe(3);
  });

  test("text that is refused and not emitted again is not in the output", async () => {
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          refuse(kit, 1);
          await Promise.allSettled([context.emit(delta("lost ")), context.emit(delta("kept"))]);
        }),
      ],
    });
    const { id } = await kit.start();
    expect((await kit.over(id)).finalOutput).toBe("kept");
  });

  test("what a provider emits and does not wait for is in the output, as it was when it was emitted", async () => {
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          const event = { case: "outputTextDelta" as const, value: { text: "one " } };
          void context.emit(event as ProviderEvent);
          event.value.text = "two";
          void context.emit(event as ProviderEvent);
        }),
      ],
    });
    const { id } = await kit.start();
    expect((await kit.over(id)).finalOutput).toBe("one two");
  });

  test("a failure's partial output is what was stored of it, also of what was under way", async () => {
    const slow = gate();
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          await context.emit(delta("one "));
          kit.store.tamper = () => slow.promise;
          void context.emit(delta("two"));
          kit.store.tamper = () => "pass";
          throw new Error("enough");
        }),
      ],
    });
    const { id } = await kit.start();
    await settle();
    slow.resolve();
    const over = await kit.over(id);
    expect(over.state).toBe(ExecutionState.FAILED);
    expect(only(await kit.events(id), "runFailed").partialOutput).toBe("one two");
  });

  describe("a resume state that was saved for a write that is refused", () => {
    /** What the attempt after `run`'s is given. */
    async function stateAfter(run: (context: ProviderContext, kit: Kit) => Promise<void>): Promise<string> {
      const done = gate();
      const kit = await openKit({
        providers: [
          provider(async (context) => {
            await run(context, kit);
            done.resolve();
            await aborted(context.signal);
          }),
        ],
      });
      const { id } = await kit.start();
      await done.promise;
      let state = "none";
      const resumed = provider(async ({ resume }) => {
        state = Buffer.from(resume?.state ?? []).toString();
      });
      await kit.crash({ providers: [resumed] });
      await kit.over(id);
      return state;
    }

    test("is kept with the one after it", async () => {
      const state = await stateAfter(async (context, kit) => {
        await context.emit(delta("a"), { resumeState: Buffer.from("old") });
        context.saveResumeState(Buffer.from("saved"));
        refuse(kit, 1);
        await expect(context.emit(delta("b"))).rejects.toThrow();
        await context.emit(delta("b"));
      });
      expect(state).toBe("saved");
    });

    test("does not replace one that is newer", async () => {
      const state = await stateAfter(async (context, kit) => {
        context.saveResumeState(Buffer.from("saved"));
        refuse(kit, 1);
        const first = context.emit(delta("a"));
        const second = context.emit(delta("b"), { resumeState: Buffer.from("newer") });
        await expect(first).rejects.toThrow();
        await second;
        await context.emit(delta("c"));
      });
      expect(state).toBe("newer");
    });

    test("outlives what is refused behind it without a state", async () => {
      const state = await stateAfter(async (context, kit) => {
        context.saveResumeState(Buffer.from("saved"));
        refuse(kit, 3); // Both, and the second once more when it is decided again.
        const results = await Promise.allSettled([context.emit(delta("a")), context.emit(delta("b"))]);
        expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
        await context.emit(delta("c"));
      });
      expect(state).toBe("saved");
    });
  });

  test("a resume state that was given with a refused write is its caller's again", async () => {
    const writes: boolean[] = [];
    const kit = await openKit({
      providers: [
        provider(async (context) => {
          refuse(kit, 1);
          await expect(context.emit([], { resumeState: Buffer.from("x") })).rejects.toThrow();
          kit.store.tamper = (write) => {
            writes.push(write.side?.resumeState !== undefined);
            return "pass";
          };
          await context.emit(delta("a"));
        }),
      ],
    });
    const { id } = await kit.start();
    await kit.over(id);
    expect(writes[0]).toBe(false);
  });
});
