import { type TSchema, Type } from 'typebox'
import { expect, it } from 'vitest'
import { compileSerializer } from './serialization.ts'

const serializerOf = (schema: TSchema) => compileSerializer({ schema, method: 'GET', url: '/' })

const Item = Type.Object({
  name: Type.String(),
  loss: Type.Union([Type.Number(), Type.Null()]),
  count: Type.Integer(),
  interval: Type.Union([Type.Object({ lower: Type.Number() }), Type.Null()]),
  metrics: Type.Record(Type.String(), Type.Object({ mean: Type.Number() })),
  anything: Type.Record(Type.String(), Type.Unknown()),
})
const List = Type.Object({ items: Type.Array(Item), next: Type.Optional(Type.Null()) })

const item = (value: number) => ({
  name: 'a',
  loss: value,
  count: value,
  interval: { lower: value, secret: 1 },
  metrics: { x: { mean: value, secret: 1 } },
  anything: { x: value, list: [value, 'b'] },
  secret: 1,
})

it('numbers that JSON cannot represent are sent as null, at any depth, and only fields of the schema are sent', () => {
  const serialize = serializerOf(List)
  const shown = (value: number | null) => ({
    name: 'a',
    loss: value,
    count: value,
    interval: { lower: value },
    metrics: { x: { mean: value } },
    anything: { x: value, list: [value, 'b'] },
  })
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    expect(JSON.parse(serialize({ items: [item(1), item(bad)], next: null, secret: 1 }))).toEqual({
      items: [shown(1), shown(null)],
      next: null,
    })
  }
})

it('null is sent as null, whatever else a field may be', () => {
  const Text = Type.Union([Type.String({ format: 'date-time' }), Type.Null()])
  const Names = Type.Union([Type.Array(Type.Union([Type.String(), Type.Null()])), Type.Null()])
  const Either = Type.Union([Type.Integer(), Type.Boolean(), Type.Null()])
  const serialize = serializerOf(
    Type.Object({ at: Text, names: Names, either: Either, interval: Item.properties.interval }),
  )
  for (const value of [
    { at: null, names: null, either: null, interval: null },
    { at: '2026-01-01T00:00:00.000Z', names: ['a', null], either: false, interval: { lower: 0 } },
  ]) {
    expect(JSON.parse(serialize(value))).toEqual(value)
  }
})

it('data that cannot be serialized for another reason is an error', () => {
  const serialize = serializerOf(List)
  expect(() => serialize({ items: [{ ...item(1), loss: 'much' }] })).toThrow('cannot be converted to a number')
})
