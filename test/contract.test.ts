import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CONTRACT } from '../src/control/contract.ts'
import { readPaths } from './api-document.ts'

type Marked = { readonly 'x-extension'?: true }
interface Parameter extends Marked {
  readonly name: string
  readonly in: string
}
interface Operation extends Marked {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
}
interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, { readonly properties?: Record<string, Marked> }>> }
}

const document = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8')) as Document
const operations = Object.values(readPaths<Operation>()).flatMap((methods) => Object.values(methods))

/** The names that are not marked as extensions, in alphabetical order. */
const unmarked = (entries: readonly (readonly [string, Marked])[]): string[] =>
  entries.flatMap(([name, entry]) => (entry['x-extension'] === true ? [] : [name])).sort()
const words = (text: string): string[] => text.split(' ').filter(Boolean).sort()

test('the API document has the operations of the contract and marks all others as extensions', () => {
  expect(unmarked(operations.map((operation) => [operation.operationId, operation]))).toEqual(
    Object.keys(CONTRACT.operations).sort(),
  )
})

test('the operations of the contract have its query parameters and mark all others', () => {
  const queries = operations.flatMap(({ operationId, parameters = [], ...operation }) =>
    operation['x-extension'] === true
      ? []
      : [
          [
            operationId,
            unmarked(parameters.filter((one) => one.in === 'query').map((one) => [one.name, one])),
          ] as const,
        ],
  )
  expect(Object.fromEntries(queries)).toEqual(
    Object.fromEntries(Object.entries(CONTRACT.operations).map(([id, names]) => [id, words(names)])),
  )
})

test.each(Object.entries(CONTRACT.fields))('%s has the fields of the contract and marks all others', (name, fields) => {
  expect(unmarked(Object.entries(document.components.schemas[name]?.properties ?? {}))).toEqual(words(fields))
})

interface Schema {
  readonly type?: string
  readonly description?: string
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly uniqueItems?: boolean
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly properties?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
}

const AT_MOST = /At most \d+ characters of JSON/

/** The paths of lists and maps without a limit, and of long lists without duplicates, whose check takes quadratic time. */
const unlimited = (schema: Schema, path: string): string[] => {
  const { items, additionalProperties, properties = {}, anyOf = [] } = schema
  const isMap = typeof additionalProperties === 'object' && !AT_MOST.test(schema.description ?? '')
  const max = schema.type === 'array' ? schema.maxItems : isMap ? schema.maxProperties : 0
  return [
    ...(max === undefined || (schema.uniqueItems && max > 100) ? [path] : []),
    ...(items === undefined ? [] : unlimited(items, `${path}[]`)),
    ...(isMap ? unlimited(additionalProperties, `${path}.*`) : []),
    ...Object.entries(properties).flatMap(([name, property]) => unlimited(property, `${path}.${name}`)),
    ...anyOf.flatMap((branch) => unlimited(branch, path)),
  ]
}

test('every list and every map in a JSON body has a maximum', () => {
  type WithBody = Operation & {
    readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Schema }>> }
  }
  const bodies = Object.values(readPaths<WithBody>()).flatMap((methods) =>
    Object.values(methods).flatMap(({ operationId, requestBody }) => {
      const json = requestBody?.content['application/json']
      return json === undefined ? [] : unlimited(json.schema, operationId)
    }),
  )
  expect(bodies).toEqual([])
})
