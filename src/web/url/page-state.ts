/**
 * The state of a page in its address (filters, order, selection), so that it can be shared and survives a reload. A page
 * declares its fields with defaults; fields at their defaults are omitted.
 */
export type PageState = Readonly<Record<string, string | number | boolean | readonly string[]>>

const encodeValue = (value: PageState[string]): readonly string[] =>
  typeof value === 'object' ? value : [String(value)]

const same = (a: PageState[string], b: PageState[string]): boolean =>
  JSON.stringify(encodeValue(a)) === JSON.stringify(encodeValue(b))

/** The allowed values of text fields, with labels to choose from; other text fields accept anything. */
export type PageWords<State> = { readonly [Name in keyof State]?: readonly (readonly [word: string, label: string])[] }

const decodeValue = (
  found: readonly string[],
  standard: PageState[string],
  words: PageWords<{ a: 0 }>['a'],
): PageState[string] => {
  const first = found[0] ?? ''
  switch (typeof standard) {
    case 'number':
      return first.trim() !== '' && Number.isFinite(Number(first)) ? Number(first) : standard
    case 'boolean':
      return first === 'true' || (first === 'false' ? false : standard)
    case 'object':
      return found.filter((item) => item !== '')
    default:
      return words === undefined || words.some(([word]) => word === first) ? first : standard
  }
}

/** Returns the query without `?`. Names are in the order of `defaults`, so that equal states have equal addresses. */
export const encodeState = <State extends PageState>(state: State, defaults: State): string => {
  const query = new URLSearchParams()
  for (const [name, standard] of Object.entries(defaults)) {
    const value = state[name] ?? standard
    if (same(value, standard)) continue
    const items = encodeValue(value)
    // Distinguishes an empty list from the default.
    for (const item of items.length === 0 ? [''] : items) query.append(name, item)
  }
  return query.toString()
}

/** Ignores unknown names and invalid values, so that an old address still opens the page. */
export const decodeState = <State extends PageState>(
  query: string,
  defaults: State,
  words: PageWords<State> = {},
): State => {
  const found = new URLSearchParams(query)
  const entries = Object.entries(defaults).map(([name, standard]) => [
    name,
    found.has(name) ? decodeValue(found.getAll(name), standard, words[name]) : standard,
  ])
  return Object.fromEntries(entries) as State
}
