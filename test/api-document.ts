import { readFileSync } from 'node:fs'

type Json = Readonly<Record<string, unknown>>

const document = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8')) as Json

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** Returns the target of a reference within the document: `#/components/schemas/Device`. */
const target = (reference: string): unknown =>
  reference
    .split('/')
    .slice(1)
    .reduce<unknown>((value, key) => (value as Json)[key], document)

const dereferenced = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(dereferenced)
  if (!isObject(value)) return value
  if (typeof value.$ref === 'string') return dereferenced(target(value.$ref))
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, dereferenced(inner)]))
}

const streams = (operation: unknown): boolean => JSON.stringify(operation).includes('text/event-stream')

/**
 * Returns the operations of openapi.json by path and method, with all references resolved. Omits event streams, which do not
 * end by themselves.
 */
export const readPaths = <Operation>(): Readonly<Record<string, Readonly<Record<string, Operation>>>> =>
  Object.fromEntries(
    Object.entries(dereferenced(document.paths) as Readonly<Record<string, Readonly<Record<string, Operation>>>>).map(
      ([path, methods]) => [path, Object.fromEntries(Object.entries(methods).filter(([, one]) => !streams(one)))],
    ),
  )
