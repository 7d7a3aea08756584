import { createHash } from 'node:crypto'
import type { Conversion } from './convert.ts'
import type { OnnxValue } from './onnx/model.ts'
import { COREML_COMPUTED } from './to-coreml/coreml-to-onnx.ts'

/** How a converted file's outputs differ from the source's, or why they were not compared. */
export type Validation =
  | {
      readonly state: 'equal' | 'different'
      /** Over all output elements of all samples: absolute, or relative to the source's values if they are above 1. */
      readonly largest: number
      readonly mean: number
      readonly tolerance: number
      readonly samples: number
      /** The reference is the ONNX model made from the source, because nothing here can run the source. */
      readonly reference?: 'onnx'
      /** The outputs were computed by onnxruntime from the documented layers, not by the format's own engine. */
      readonly computed?: 'from its layers'
    }
  | { readonly state: 'runs'; readonly samples: number; readonly reason: string }
  /** The engine refuses the converted model. */
  | { readonly state: 'fails'; readonly reason: string }
  | { readonly state: 'not validated'; readonly reason: string }

const shapeOf = ({ name, type, shape }: OnnxValue) => ({ name, type, shape })

/** The result of a conversion as JSON; `validations` by format. */
export const reportOf = (
  fileName: string,
  conversion: Conversion,
  validations: Readonly<Record<string, Validation>>,
) => ({
  model: fileName,
  source_format: conversion.source,
  parameters: conversion.parameters,
  operators: conversion.operators,
  inputs: conversion.inputs.map(shapeOf),
  outputs: conversion.outputs.map(shapeOf),
  notes: conversion.notes,
  files: conversion.files.map(({ format, fileName: file, bytes, notes }) => ({
    format,
    file,
    size_bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    notes,
    validation: validations[format] ?? null,
  })),
  failed: conversion.refused,
})

export type ConversionReport = ReturnType<typeof reportOf>

/** Describes a validation in words. */
export const validationText = (validation: Validation | null): string => {
  if (validation === null) return 'not validated'
  if (validation.state === 'not validated') return `not validated: ${validation.reason}`
  if (validation.state === 'fails') return `FAILS: ${validation.reason}`
  if (validation.state === 'runs') return `runs on ${validation.samples} samples; not compared: ${validation.reason}`
  const { largest, mean, tolerance, samples, reference, computed } = validation
  const sign = validation.state === 'equal' ? 'within' : 'ABOVE'
  const how = [reference && 'compared with the ONNX model of the source', computed && COREML_COMPUTED].filter(Boolean)
  return (
    `largest difference ${largest.toExponential(1)}, mean ${mean.toExponential(1)} on ${samples} samples, ` +
    `${sign} the tolerance of ${tolerance}${how.length === 0 ? '' : ` (${how.join('; ')})`}`
  )
}

const shapeText = ({ name, type, shape }: { name: string; type: string; shape: OnnxValue['shape'] }): string =>
  `${name}: ${type} [${shape === null ? '?' : shape.map((size) => size || '?').join(', ')}]`

/** Formats the report for people. */
export const reportText = (report: ConversionReport): string =>
  [
    `${report.model} (${report.source_format}), ${report.parameters} parameters`,
    `inputs    ${report.inputs.map(shapeText).join('; ')}`,
    `outputs   ${report.outputs.map(shapeText).join('; ')}`,
    `operators ${Object.entries(report.operators)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')}`,
    ...report.notes.map((note) => `note      ${note}`),
    ...report.files.flatMap(({ format, file, size_bytes, sha256, notes, validation }) => [
      '',
      `${format}: ${file}, ${size_bytes} bytes, sha256:${sha256}`,
      `  ${validationText(validation)}`,
      ...notes.map((note) => `  note: ${note}`),
    ]),
    ...report.failed.flatMap(({ format, reason }) => ['', `${format}: not converted`, `  ${reason}`]),
    '',
  ].join('\n')
