import { createHash } from 'node:crypto'

/** The style of pages outside the dashboard. */
export const STYLE = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { background: light-dark(#fff, #16181d); color: light-dark(#1b1d22, #e8eaee); display: grid; place-items: center; min-height: 90vh; margin: 0; }
  main { width: min(26rem, 90vw); }
  h1 { font-size: 1.4rem; margin: 0 0 .5rem; }
  label { display: block; margin: 1rem 0 .25rem; }
  input { width: 100%; box-sizing: border-box; font: inherit; padding: .5rem; }
  button { font: inherit; margin-top: 1rem; padding: .5rem 1.25rem; cursor: pointer; }
  a { color: light-dark(#1a4fd0, #8ab4ff); }
  #problem { color: light-dark(#b03020, #ff9a8f); min-height: 1.5em; }
`

/** Returns the hash with which a Content-Security-Policy allows this inline style or script. */
export const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
