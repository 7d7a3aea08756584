import { badRequest } from '../../domain/errors.ts'
import { GGML_TYPES } from '../../inference/models/gguf/ggml-types.ts'

const BY_NAME = new Map(
  Object.entries(GGML_TYPES).map(([number, type]) => [type.name, { ...type, number: Number(number) }]),
)

/** A ggml type by name, with its number in GGUF files. */
export const ggmlType = (name: string) => {
  const type = BY_NAME.get(name)
  if (type === undefined)
    throw badRequest(`'${name}' is not a ggml type. Known types: ${[...BY_NAME.keys()].join(', ')}.`)
  return type
}

/** The bytes of this many elements, which must be whole blocks. */
export const ggmlBytes = (name: string, elements: number): number => {
  const type = ggmlType(name)
  return (elements / type.elements) * type.bytes
}
