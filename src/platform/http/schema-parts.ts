import type { MUST_BE } from './wire.schema.ts'

/** The parts of a JSON schema that conversions, checks, and error messages look at. */
export interface SchemaParts {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly SchemaParts[]
  readonly items?: SchemaParts
  readonly properties?: Readonly<Record<string, SchemaParts>>
  readonly patternProperties?: Readonly<Record<string, SchemaParts>>
  readonly additionalProperties?: boolean | SchemaParts
  readonly format?: string
  readonly [MUST_BE]?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
}
