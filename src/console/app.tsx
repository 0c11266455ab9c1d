import { useEffect } from "preact/hooks";
import { type Command, useCommands } from "./commands.js";
import { watchServer } from "./live/server-state.js";
import { Confirm } from "./parts/confirm.js";
import { KeysHelp, openKeys } from "./parts/keys.js";
import { Notices } from "./parts/notices.js";
import { openPalette, Palette } from "./parts/palette.js";
import { goTo, NO_FILTER, type Route, route } from "./route.js";
import { forgetToken, generation, tokenUsed, tokenWanted } from "./session.js";
import { Shell } from "./shell.js";
import { nextTheme } from "./theme.js";
import { ExecutionView } from "./views/execution.js";
import { ExecutionsView } from "./views/executions.js";
import { InboxView } from "./views/inbox.js";
import { ProvidersView } from "./views/providers.js";
import { RuntimeView } from "./views/runtime.js";
import { StartView } from "./views/start.js";
import { TokenView } from "./views/token.js";

/** The whole page. */
export function App() {
  useCommands(tokenUsed.value ? [...COMMANDS, FORGET] : COMMANDS);
  if (tokenWanted.value) return <Token />;
  return (
    <>
      <Pages key={generation.value} />
      <Overlays />
    </>
  );
}

function Token() {
  return (
    <>
      <TokenView />
      <Notices />
    </>
  );
}

/** All that talks to the server; it begins anew with every token. */
function Pages() {
  useEffect(() => {
    const over = new AbortController();
    watchServer(over.signal);
    return () => over.abort();
  }, []);
  return (
    <Shell>
      <View route={route.value} />
    </Shell>
  );
}

function Overlays() {
  return (
    <>
      <Palette />
      <KeysHelp />
      <Confirm />
      <Notices />
    </>
  );
}

function View({ route: shown }: { readonly route: Route }) {
  switch (shown.view) {
    case "executions":
      return <ExecutionsView filter={shown.filter} />;
    case "execution":
      return <ExecutionView key={shown.id} id={shown.id} tab={shown.tab} sequence={shown.sequence} />;
    case "inbox":
      return <InboxView key={String(shown.closed)} closed={shown.closed} />;
    case "start":
      return <StartView providerId={shown.providerId} conversationId={shown.conversationId} />;
    case "providers":
      return <ProvidersView />;
    default:
      return <RuntimeView />;
  }
}

const COMMANDS: readonly Command[] = [
  { title: "Show all commands", keys: "mod+k", hidden: true, run: openPalette },
  { title: "Start an execution", keys: "n", run: () => goTo({ view: "start", providerId: "", conversationId: "" }) },
  { title: "Go to executions", keys: "g e", run: () => goTo({ view: "executions", filter: NO_FILTER }) },
  { title: "Go to the inbox", keys: "g i", run: () => goTo({ view: "inbox", closed: false }) },
  { title: "Go to providers", keys: "g p", run: () => goTo({ view: "providers" }) },
  { title: "Go to the runtime", keys: "g r", run: () => goTo({ view: "runtime" }) },
  { title: "Show the keys", keys: "?", run: openKeys },
  { title: "Change the theme: auto, light, dark", run: nextTheme },
];

const FORGET: Command = { title: "Forget the token", run: forgetToken };
