// JSON pointers (RFC 6901) to parts of JSON values, and their notation in messages.

const MAX_STEP_SHOWN = 100

/** Appends one step. */
export const pointerTo = (parent: string, step: string | number): string =>
  `${parent}/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** `/a~1b/0` -> `['a/b', '0']`; the root has no steps. */
export const stepsOf = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))

/** `/ids/0/name` -> `ids[0].name`; empty for the root. */
export const fieldAt = (pointer: string): string =>
  stepsOf(pointer)
    .map((step) => step.slice(0, MAX_STEP_SHOWN))
    .map((step, index) => (index === 0 ? step : /^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join('')
