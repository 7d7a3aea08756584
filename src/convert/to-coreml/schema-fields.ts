// Helpers for describing Core ML's messages: fields by number.
import { type Field, type MessageType, many, one } from '../protobuf/message.ts'

export type Message = Record<string, unknown>

export const message = (name: string, fields: Readonly<Record<string, Field>>): MessageType<Message> => ({
  name,
  fields,
})
export const flag = (number: number): Field => one(number, 'bool')
export const count = (number: number): Field => one(number, 'uint64')
export const real = (number: number): Field => one(number, 'float')
export const counts = (number: number): Field => many(number, 'uint64')
export const integers = (number: number): Field => many(number, 'int64')

export const empty = message('Empty', {})
