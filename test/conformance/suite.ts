import { afterAll, beforeAll } from "vitest";
import { testActions } from "./cases/actions.js";
import { testArtifacts } from "./cases/artifacts.js";
import { testAttach } from "./cases/attach.js";
import { testCancellation } from "./cases/cancellation.js";
import { testInput } from "./cases/input.js";
import { testLifecycle } from "./cases/lifecycle.js";
import { testLists } from "./cases/lists.js";
import { testPreflight } from "./cases/preflight.js";
import { testReplay } from "./cases/replay.js";
import { testTenants } from "./cases/tenants.js";
import { type Clients, createClients, type OpenTarget, type Target } from "./support/target.js";

/** What a case works with; set when it runs. */
export interface Scene {
  /** The tenant that the cases belong to. */
  readonly clients: Clients;
  /** Another tenant on the same server. */
  readonly rival: Clients;
}

/**
 * The behaviours that can be seen over the wire, against one server over one
 * transport. `bidi` says whether that can carry AttachExecution: where it can,
 * sending and cancelling are tried both ways.
 */
export function testConformance(openTarget: OpenTarget, { bidi }: { readonly bidi: boolean }): void {
  let target: Target;
  const scene: { clients?: Clients; rival?: Clients } = {};
  beforeAll(async () => {
    target = await openTarget();
    scene.clients = createClients(target.connect("acme"));
    scene.rival = createClients(target.connect("rival"));
  });
  afterAll(() => target.close());

  const ready = (): Scene => scene as Scene;
  testLifecycle(ready);
  testPreflight(ready);
  testReplay(ready);
  testActions(ready);
  testInput(ready);
  testArtifacts(ready);
  testCancellation(ready);
  testLists(ready);
  testTenants(ready);
  if (bidi) testAttach(ready);
}
