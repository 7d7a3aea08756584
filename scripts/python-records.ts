// Generates the Python client's dataclasses from the responses in openapi.json.
import type { OpenAPI3 } from 'openapi-typescript'

interface Source {
  readonly operation: string
  readonly status: '200' | '201'
  /** The path from the response body to the object: property names, or `[]` for the items of a list. */
  readonly within: readonly string[]
  readonly about: string
}

/** The classes and where their fields are described. A class comes before those that contain it. */
const RECORDS: Readonly<Record<string, Source>> = {
  Version: { operation: 'getModel', status: '200', within: ['versions', '[]'], about: 'One version of a model.' },
  Model: { operation: 'getModel', status: '200', within: [], about: 'A model in the catalog with its versions.' },
  DeviceRecord: { operation: 'getDevice', status: '200', within: [], about: 'A registered device.' },
  ListedDevice: {
    operation: 'listDevices',
    status: '200',
    within: ['devices', '[]'],
    about: 'A device in a list.',
  },
  Group: { operation: 'getGroup', status: '200', within: [], about: 'A device group.' },
  JobRound: {
    operation: 'getTrainingJob',
    status: '200',
    within: ['history', '[]'],
    about: "One round in a job's history.",
  },
  Job: { operation: 'getTrainingJob', status: '200', within: [], about: 'A training job.' },
  Round: { operation: 'getRoundStatus', status: '200', within: [], about: 'A round.' },
  Rollout: { operation: 'getRollout', status: '200', within: [], about: 'A staged delivery of a version.' },
  Deployment: { operation: 'getDeployment', status: '200', within: [], about: "A version's delivery to devices." },
}

/** List properties with items of another class. */
const NESTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Model: { versions: 'Version' },
  Job: { history: 'JobRound' },
}

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

interface Operation {
  readonly operationId: string
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }>
  >
}

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

type Resolve = (schema: Schema | undefined) => Schema

const resolver =
  ({ components }: Document): Resolve =>
  (schema) => {
    const name = schema?.$ref?.split('/').at(-1)
    const found = name === undefined ? schema : components.schemas[name]
    if (found === undefined) throw new Error(`openapi.json has no schema ${name ?? 'here'}.`)
    return found
  }

const WORDS: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
}

const typeOf = (given: Schema | undefined, resolve: Resolve): string => {
  const schema = resolve(given)
  if (schema.anyOf) {
    const types = [...new Set(schema.anyOf.map((each) => typeOf(each, resolve)))]
    return types.includes('Any') ? 'Any' : types.join(' | ')
  }
  if (schema.enum) return `Literal[${schema.enum.map((word) => JSON.stringify(word)).join(', ')}]`
  if (schema.type === 'array') return `list[${typeOf(schema.items, resolve)}]`
  if (schema.type === 'object') return 'dict[str, Any]'
  return WORDS[schema.type ?? ''] ?? 'Any'
}

const answerOf = ({ paths }: Document, { operation, status, within }: Source, resolve: Resolve): Schema => {
  const found = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .find(({ operationId }) => operationId === operation)
  const body = found?.responses[status]?.content['application/json']?.schema
  return within.reduce(
    (schema, step) => resolve(step === '[]' ? schema.items : schema.properties?.[step]),
    resolve(body),
  )
}

const classOf = (document: Document, name: string, source: Source): string => {
  const resolve = resolver(document)
  const { properties = {}, required = [] } = answerOf(document, source, resolve)
  const fields = Object.entries(properties).map(([field, schema]) => {
    const nested = NESTED[name]?.[field]
    const type = nested === undefined ? typeOf(schema, resolve) : `list[${nested}]`
    if (required.includes(field)) return `    ${field}: ${type}`
    return `    ${field}: ${/\bNone\b|^Any$/.test(type) ? type : `${type} | None`} = None`
  })
  return `@dataclass(kw_only=True)\nclass ${name}:\n    """${source.about}"""\n\n${fields.join('\n')}\n`
}

/** Generates the module of dataclasses. */
export const pythonRecords = (document: OpenAPI3): string => {
  const described = document as unknown as Document
  const classes = Object.entries(RECORDS).map(([name, source]) => classOf(described, name, source))
  return `"""The responses of the service as plain objects. Generated from openapi.json by \`npm run gen\`. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


${classes.join('\n\n')}`
}

/** Generates the module with the version. */
export const pythonVersion = (version: string): string =>
  `# Generated from package.json by \`npm run gen\`. Do not edit.\nVERSION = "${version}"\n`
