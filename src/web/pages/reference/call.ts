import { errorMessage } from '../../../domain/error-message.ts'
import { isPathSegment } from '../../../domain/path-segment.ts'
import type { Operation } from './document.ts'

/** The typed inputs of an operation: parameters by name, and a JSON body or form fields as text. */
export interface Inputs {
  readonly parameters: Readonly<Record<string, string>>
  /** JSON if the body is JSON. */
  readonly body: string
}

/**
 * Returns the path with its parameters. Those that are missing, or that a path cannot contain, become `<name>` if `placeholders`
 * is true, and stay `{name}` if not.
 */
export const pathOf = ({ path, parameters }: Operation, inputs: Inputs, placeholders: boolean): string => {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = inputs.parameters[name] ?? ''
    if (isPathSegment(value)) return encodeURIComponent(value)
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

/** Returns the names of required parameters that are empty, or that a path cannot contain. */
export const missingIn = ({ parameters }: Operation, inputs: Inputs): readonly string[] =>
  parameters
    .filter(({ name, in: place, required }) => {
      const value = inputs.parameters[name] ?? ''
      return place === 'path' ? !isPathSegment(value) : required && value === ''
    })
    .map(({ name }) => name)

export const isForm = ({ body }: Operation): boolean => body?.type === 'multipart/form-data'
export const isJson = ({ body }: Operation): boolean => body?.type === 'application/json'

/** Returns the text of a form's fields; that of an object or a list is its JSON. */
export const fieldsIn = (body: object): readonly (readonly [string, string])[] =>
  Object.entries(body).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)])

/** An optional body is omitted if its text is empty. */
export const sendsBody = ({ body }: Operation, text: string): boolean =>
  body !== null && (body.required || text.trim() !== '')

/** @returns what is wrong with the body or the form's fields; null if valid */
export const faultOfBody = (operation: Operation, text: string): string | null => {
  if (!sendsBody(operation, text) || (isForm(operation) && text.trim() === '')) return null
  try {
    const fields: unknown = JSON.parse(text)
    return isForm(operation) && (fields === null || typeof fields !== 'object') ? 'The fields must be an object.' : null
  } catch (error) {
    return errorMessage(error)
  }
}
