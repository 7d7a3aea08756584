import fastJson from 'fast-json-stringify'
import type { FastifySerializerCompiler } from 'fastify'
import type { TSchema } from 'typebox'

type Serializer = (data: unknown) => string

const serializers = new WeakMap<TSchema, Serializer>()

/**
 * Answers as the fields their schema names. A schema is compiled when it is first answered with, and once in a process:
 * compiling all of them took most of the time that a start takes.
 */
export const compileSerializer: FastifySerializerCompiler<TSchema> = ({ schema }) => {
  return (data) => {
    let serialize = serializers.get(schema)
    if (serialize === undefined) {
      serialize = fastJson(schema as fastJson.AnySchema) as Serializer
      serializers.set(schema, serialize)
    }
    return serialize(data)
  }
}
