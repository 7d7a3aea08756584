import { Fragment, type ReactNode } from 'react'
import { Link } from 'wouter'
import { type Column, Table } from '../../parts/table.tsx'
import { type ApiDocument, limitsOf, nameOf, type Parameter, resolve, type Schema } from './document.ts'
import styles from './reference.module.css'

const joined = (parts: readonly ReactNode[], separator: string): ReactNode =>
  parts.map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a type have no other id and never move
    <Fragment key={index}>
      {index > 0 && separator}
      {part}
    </Fragment>
  ))

/** Formats text between backticks as code. */
const withCode = (text: string): ReactNode =>
  text.split('`').map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other id and never move
    index % 2 === 1 ? <code key={index}>{part}</code> : part,
  )

/** A short form of a type; named types link to their pages. */
export const typeOf = (schema: Schema): ReactNode => {
  const name = nameOf(schema)
  if (name !== null) return <Link href={`/docs/schemas/${name}`}>{name}</Link>
  if (schema.enum !== undefined)
    return joined(
      schema.enum.map((word) => JSON.stringify(word)),
      ' | ',
    )
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.anyOf !== undefined) return joined(schema.anyOf.map(typeOf), ' | ')
  if (schema.type === 'array') return <>{typeOf(schema.items ?? {})}[]</>
  if (schema.format === 'binary') return 'file'
  if (typeof schema.additionalProperties === 'object' && schema.properties === undefined)
    return <>map of {typeOf(schema.additionalProperties)}</>
  return [schema.type ?? 'any'].flat().join(' | ')
}

export interface Field {
  readonly name: string
  readonly required: boolean
  readonly description: string | null
  readonly schema: Schema
}

const COLUMNS: readonly Column<Field>[] = [
  {
    name: 'Name',
    cell: ({ name, required }) => (
      <span>
        <code className={styles.name}>{name}</code>
        {required && <small className={styles.required}> required</small>}
      </span>
    ),
  },
  { name: 'Type', cell: ({ schema }) => <code>{typeOf(schema)}</code> },
  {
    name: 'Meaning',
    cell: ({ description, schema }) => {
      const limits = limitsOf(schema).join(', ')
      return (
        <span>
          {description && withCode(description)}
          {description && limits && <br />}
          {limits && <span className={styles.limits}>{limits}</span>}
          {!description && !limits && '–'}
        </span>
      )
    },
  },
]

export const FieldTable = ({ label, fields }: { readonly label: string; readonly fields: readonly Field[] }) => (
  <Table label={label} columns={COLUMNS} rows={fields} rowKey={({ name }) => name} />
)

export const fieldsOfParameters = (parameters: readonly Parameter[]): readonly Field[] =>
  parameters.map(({ name, in: place, required, description, schema }) => ({
    name: place === 'header' ? `${name} (header)` : name,
    required,
    description: description ?? schema.description ?? null,
    schema,
  }))

/** Returns the fields of an object schema; empty for other schemas. */
export const fieldsOf = (document: ApiDocument, schema: Schema): readonly Field[] => {
  const { properties = {}, required = [] } = resolve<Schema>(document, schema)
  return Object.entries(properties).map(([name, property]) => ({
    name,
    required: required.includes(name),
    description: property.description ?? resolve<Schema>(document, property).description ?? null,
    schema: property,
  }))
}
