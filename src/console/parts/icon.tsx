/** Drawn on 16 by 16, in lines of the text's colour. */
const PATHS = {
  executions: "M2.5 4h11M2.5 8h11M2.5 12h7",
  inbox: "M2.5 9.5 4.5 3h7l2 6.5v3.5h-11zM2.5 9.5h3.2l.8 1.5h3l.8-1.5h3.2",
  providers: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  runtime: "M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12M8 5v3.2l2.2 1.3",
  plus: "M8 3v10M3 8h10",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10M10.7 10.7 14 14",
  check: "m3 8.5 3.2 3.2L13 5",
  cross: "M4 4l8 8M12 4l-8 8",
  stop: "M4.5 4.5h7v7h-7z",
  bang: "M8 3.5v5.5M8 12v.01",
  dots: "M8 3v.01M8 8v.01M8 13v.01",
  chevron: "m6 3.5 4.5 4.5L6 12.5",
  down: "M8 3v9.5M3.8 8.5 8 12.7l4.2-4.2",
  copy: "M6 6h7.5v7.5H6zM10 6V2.5H2.5V10H6",
  tool: "M9.8 6.2a3 3 0 0 1 3.9-3.9L11.5 4.5l.3 1.7 1.7.3 2.2-2.2M9.8 6.2 3 13",
  user: "M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8M2.8 13.8a5.3 5.3 0 0 1 10.4 0",
  file: "M4 1.8h5L12.5 5v9.2h-8.5zM9 1.8V5h3.5",
  plan: "m2.5 4 1.2 1.2L6 3M8.5 4.2h5M2.5 10.5l1.2 1.2L6 9.5M8.5 10.7h5",
  link: "M6.5 3H3v10h10V9.5M9 3h4v4M13 3 7.5 8.5",
  keyboard: "M1.8 4h12.4v8H1.8zM4.3 6.7v.01M7 6.7v.01M9.7 6.7v.01M12 6.7v.01M5 9.5h6",
  theme: "M8 14A6 6 0 1 0 8 2zM8 2a6 6 0 0 0 0 12",
  key: "M10.5 8.5a3 3 0 1 0-2.8-2L2.5 11.7V14H5v-1.8h1.8v-1.8h1.1l1-1",
} as const;

export type IconName = keyof typeof PATHS;

/** A figure beside a text that says the same: nothing of it is read aloud. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
