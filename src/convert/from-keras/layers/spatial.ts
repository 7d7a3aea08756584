import type { Layer } from '../layer-call.ts'
import { convolution, transposedConvolution } from './convolution.ts'
import { adaptivePool, globalPool, pool } from './pooling.ts'
import { centerCrop, cropping, resize, upsampling, zeroPadding } from './resizing.ts'

/** A layer for one, two, and three axes, with the number in its name. */
const forAxes = (make: (axes: number) => Layer, name: string, most = 3): [string, Layer][] =>
  Array.from({ length: most }, (_, at) => [name.replace('#', `${at + 1}D`), make(at + 1)])

export const SPATIAL_LAYERS: Readonly<Record<string, Layer>> = {
  ...Object.fromEntries([
    ...forAxes(convolution('plain'), 'Conv#'),
    ...forAxes(convolution('depthwise'), 'DepthwiseConv#', 2),
    ...forAxes(convolution('separable'), 'SeparableConv#', 2),
    ...forAxes(transposedConvolution, 'Conv#Transpose'),
    ...forAxes(pool('MaxPool'), 'MaxPooling#'),
    ...forAxes(pool('AveragePool'), 'AveragePooling#'),
    ...forAxes(adaptivePool('ReduceMax'), 'AdaptiveMaxPooling#'),
    ...forAxes(adaptivePool('ReduceMean'), 'AdaptiveAveragePooling#'),
    ...forAxes(globalPool('ReduceMax'), 'GlobalMaxPooling#'),
    ...forAxes(globalPool('ReduceMean'), 'GlobalAveragePooling#'),
    ...forAxes(zeroPadding, 'ZeroPadding#'),
    ...forAxes(cropping, 'Cropping#'),
    ...forAxes(upsampling, 'UpSampling#'),
  ]),
  Resizing: resize,
  CenterCrop: centerCrop,
}
