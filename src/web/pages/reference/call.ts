import type { Operation } from './document.ts'

/** What an operation is called with, as it is typed: parameters by name, a JSON body or form fields as text. */
export interface Inputs {
  readonly parameters: Readonly<Record<string, string>>
  /** JSON where the body is JSON. */
  readonly body: string
}

/** The path with its parameters in place; `<name>` where one is missing, if `placeholders`, else as it is. */
export const pathOf = ({ path, parameters }: Operation, inputs: Inputs, placeholders: boolean): string => {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = inputs.parameters[name] ?? ''
    if (value !== '') return encodeURIComponent(value)
    return placeholders ? `<${name}>` : `{${name}}`
  })
  const query = new URLSearchParams(
    parameters.flatMap(({ name, in: place }) => {
      const value = inputs.parameters[name] ?? ''
      return place === 'query' && value !== '' ? [[name, value]] : []
    }),
  ).toString()
  return query === '' ? filled : `${filled}?${query}`
}

export const headersOf = ({ parameters }: Operation, inputs: Inputs): readonly (readonly [string, string])[] =>
  parameters.flatMap(({ name, in: place }) => {
    const value = inputs.parameters[name] ?? ''
    return place === 'header' && value !== '' ? [[name, value] as const] : []
  })

/** Names of required parameters that are not filled in. */
export const missingIn = ({ parameters }: Operation, inputs: Inputs): readonly string[] =>
  parameters.filter(({ name, required }) => required && !inputs.parameters[name]).map(({ name }) => name)

export const isForm = ({ body }: Operation): boolean => body?.type === 'multipart/form-data'
export const isJson = ({ body }: Operation): boolean => body?.type === 'application/json'

/** A body that need not be there is left out by leaving it empty. */
export const sendsBody = ({ body }: Operation, text: string): boolean =>
  body !== null && (body.required || text.trim() !== '')

/** @returns what is wrong with the text as the body, or as the fields of a form; null when nothing is */
export const faultOfBody = (operation: Operation, text: string): string | null => {
  if (!sendsBody(operation, text) || (isForm(operation) && text.trim() === '')) return null
  try {
    const fields: unknown = JSON.parse(text)
    return isForm(operation) && (fields === null || typeof fields !== 'object') ? 'The fields must be an object.' : null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
