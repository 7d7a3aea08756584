import { badRequest } from '../../domain/errors.ts'
import { detectFormat, titleOf } from '../../tensors/detect.ts'
import { readHdf5Text } from '../../tensors/hdf5-attributes.ts'
import { inflateMember } from '../../tensors/inflate.ts'
import { decodeText, readExactly } from '../../tensors/sources.ts'
import type { ByteSource } from '../../tensors/weight-file.ts'
import { readZip } from '../../tensors/zip.ts'

const MAX_CONFIG_BYTES = 64 * 1024 * 1024

/** The texts in a Keras file that describe its model. */
export interface KerasTexts {
  /** JSON with the class, config, and layers. */
  readonly config: string
  /** Such as `3.15.1`; empty if unknown. */
  readonly version: string
}

const memberText = (source: ByteSource, name: string): string | null => {
  const entry = readZip(source).find((each) => each.name === name)
  if (entry === undefined) return null
  const { dataOffset, compressedSize, size, method } = entry
  if (size > MAX_CONFIG_BYTES) throw badRequest(`The member ${name} of the Keras file is larger than any model needs.`)
  const bytes =
    method === 'stored'
      ? readExactly(source, dataOffset, size, name)
      : inflateMember(source, { offset: dataOffset, compressedSize, size }, name)
  return decodeText(bytes, name)
}

/** Reads the architecture in a `.keras` or `.h5` file. Throws bad_request for files with only weights, saying what to save. */
export const readKerasTexts = (source: ByteSource): KerasTexts => {
  const format = detectFormat(source)
  if (format === 'keras') {
    const config = memberText(source, 'config.json')
    if (config === null) throw badRequest('The Keras file has no config.json. Save the model with model.save(path).')
    const version = /"keras_version":\s*"([^"]*)"/.exec(memberText(source, 'metadata.json') ?? '')?.[1]
    return { config, version: version ?? '' }
  }
  if (format !== 'hdf5' && format !== 'keras-weights')
    throw badRequest(`The file is ${titleOf(format)}, not a Keras model (.keras, .h5).`)
  const config = readHdf5Text(source, 'model_config')
  if (config === null) {
    throw badRequest(
      'The HDF5 file contains weights without an architecture. Save the model once with model.save("model.keras"); ' +
        'the weights of others are put into it.',
    )
  }
  return { config, version: readHdf5Text(source, 'keras_version') ?? '' }
}

/** True if an HDF5 file is a model rather than only weights. */
export const isHdf5Model = (source: ByteSource): boolean => readHdf5Text(source, 'model_config') !== null
