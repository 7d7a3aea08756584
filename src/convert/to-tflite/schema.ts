// The tables of .tflite files (schema version 3) that models for the interpreter use. Source: LiteRT, schema.fbs.
import type { FlatSchema, UnionValue } from '../flatbuffers/table.ts'

export type Options = UnionValue

export interface TfliteTensor {
  readonly shape?: readonly number[]
  /** An index in TENSOR_TYPES; 0 if absent. */
  readonly type?: number
  readonly buffer?: number
  readonly name?: string
  readonly quantization?: Quantization
  readonly isVariable?: boolean
  readonly hasRank?: boolean
}

export interface Quantization {
  readonly scale?: readonly number[]
  readonly zeroPoint?: readonly number[]
  readonly quantizedDimension?: number
}

export interface TfliteOperator {
  readonly opcodeIndex?: number
  /** Tensors; -1 for an omitted optional tensor. */
  readonly inputs?: readonly number[]
  readonly outputs?: readonly number[]
  readonly builtinOptions?: Options
}

export interface SubGraph {
  readonly tensors?: readonly TfliteTensor[]
  readonly inputs?: readonly number[]
  readonly outputs?: readonly number[]
  readonly operators?: readonly TfliteOperator[]
  readonly name?: string
}

export interface OperatorCode {
  readonly deprecatedBuiltinCode?: number
  readonly customCode?: string
  readonly version?: number
  readonly builtinCode?: number
}

/** The number of the operator, which old files store in one byte. */
export const codeOf = ({ builtinCode, deprecatedBuiltinCode }: OperatorCode): number =>
  Math.max(builtinCode ?? 0, deprecatedBuiltinCode ?? 0)

export interface TfliteModel {
  readonly version?: number
  readonly operatorCodes?: readonly OperatorCode[]
  readonly subgraphs?: readonly SubGraph[]
  readonly description?: string
  readonly buffers?: readonly { readonly data?: Uint8Array; readonly offset?: number }[]
  readonly metadataBuffer?: readonly number[]
  readonly metadata?: readonly { readonly buffer?: number }[]
  readonly signatureDefs?: readonly Signature[]
}

/** The names of a subgraph's inputs and outputs for callers. */
interface Signature {
  readonly inputs?: readonly { readonly name?: string; readonly tensorIndex?: number }[]
  readonly outputs?: readonly { readonly name?: string; readonly tensorIndex?: number }[]
  readonly signatureKey?: string
  readonly subgraphIndex?: number
}

/** TensorType by number. */
export const TENSOR_TYPES = ['f32', 'f16', 'i32', 'u8', 'i64', 'string', 'bool', 'i16', '', 'i8', 'f64'] as const

const OPTIONS =
  `Conv2DOptions DepthwiseConv2DOptions ConcatEmbeddingsOptions LSHProjectionOptions Pool2DOptions SVDFOptions
  RNNOptions FullyConnectedOptions SoftmaxOptions ConcatenationOptions AddOptions L2NormOptions LocalResponseNormalizationOptions
  LSTMOptions ResizeBilinearOptions CallOptions ReshapeOptions SkipGramOptions SpaceToDepthOptions
  EmbeddingLookupSparseOptions MulOptions PadOptions GatherOptions BatchToSpaceNDOptions SpaceToBatchNDOptions
  TransposeOptions ReducerOptions SubOptions DivOptions SqueezeOptions SequenceRNNOptions StridedSliceOptions ExpOptions
  TopKV2Options SplitOptions LogSoftmaxOptions CastOptions DequantizeOptions MaximumMinimumOptions ArgMaxOptions LessOptions
  NegOptions PadV2Options GreaterOptions GreaterEqualOptions LessEqualOptions SelectOptions SliceOptions TransposeConvOptions
  SparseToDenseOptions TileOptions ExpandDimsOptions EqualOptions NotEqualOptions ShapeOptions PowOptions ArgMinOptions
  FakeQuantOptions PackOptions LogicalOrOptions OneHotOptions LogicalAndOptions LogicalNotOptions UnpackOptions
  FloorDivOptions SquareOptions ZerosLikeOptions FillOptions BidirectionalSequenceLSTMOptions
  BidirectionalSequenceRNNOptions UnidirectionalSequenceLSTMOptions FloorModOptions RangeOptions
  ResizeNearestNeighborOptions LeakyReluOptions SquaredDifferenceOptions MirrorPadOptions AbsOptions SplitVOptions
  UniqueOptions ReverseV2Options AddNOptions GatherNdOptions CosOptions WhereOptions RankOptions ReverseSequenceOptions
  MatrixDiagOptions QuantizeOptions MatrixSetDiagOptions HardSwishOptions IfOptions WhileOptions DepthToSpaceOptions
  NonMaxSuppressionV4Options NonMaxSuppressionV5Options ScatterNdOptions SelectV2Options DensifyOptions SegmentSumOptions
  BatchMatMulOptions CumsumOptions CallOnceOptions BroadcastToOptions Rfft2dOptions Conv3DOptions HashtableOptions
  HashtableFindOptions HashtableImportOptions HashtableSizeOptions VarHandleOptions ReadVariableOptions
  AssignVariableOptions RandomOptions BucketizeOptions GeluOptions DynamicUpdateSliceOptions UnsortedSegmentProdOptions
  UnsortedSegmentMaxOptions UnsortedSegmentMinOptions UnsortedSegmentSumOptions ATan2Options SignOptions BitcastOptions
  BitwiseXorOptions RightShiftOptions`.split(/\s+/)

/** Options that have fields; the others are empty tables. */
const OPTION_FIELDS = {
  AddOptions: 'activation:i8 potScaleInt16:bool',
  ArgMaxOptions: 'outputType:i8',
  ArgMinOptions: 'outputType:i8',
  BatchMatMulOptions: 'adjX:bool adjY:bool asymmetricQuantizeInputs:bool',
  BidirectionalSequenceLSTMOptions:
    'activation:i8 cellClip:f32 projClip:f32 mergeOutputs:bool timeMajor:bool asymmetricQuantizeInputs:bool',
  BidirectionalSequenceRNNOptions: 'timeMajor:bool activation:i8 mergeOutputs:bool asymmetricQuantizeInputs:bool',
  BucketizeOptions: 'boundaries:[f32]',
  CallOnceOptions: 'subgraph:i32',
  CallOptions: 'subgraph:u32',
  CastOptions: 'inType:i8 outType:i8',
  ConcatEmbeddingsOptions: 'channels:i32 columns:[i32] dimensions:[i32]',
  ConcatenationOptions: 'axis:i32 activation:i8',
  Conv2DOptions: 'padding:i8 strideW:i32 strideH:i32 activation:i8 dilationW:i32 dilationH:i32 quantizedBiasType:i8',
  Conv3DOptions:
    'padding:i8 strideD:i32 strideW:i32 strideH:i32 activation:i8 dilationD:i32 dilationW:i32 dilationH:i32',
  CumsumOptions: 'exclusive:bool reverse:bool',
  DepthToSpaceOptions: 'blockSize:i32',
  DepthwiseConv2DOptions:
    'padding:i8 strideW:i32 strideH:i32 depthMultiplier:i32 activation:i8 dilationW:i32 dilationH:i32',
  DivOptions: 'activation:i8',
  EmbeddingLookupSparseOptions: 'combiner:i8',
  FakeQuantOptions: 'min:f32 max:f32 bits:i32 narrowRange:bool',
  FullyConnectedOptions:
    'activation:i8 weightsFormat:i8 keepNumDims:bool asymmetricQuantizeInputs:bool quantizedBiasType:i8',
  GatherOptions: 'axis:i32 batchDims:i32',
  GeluOptions: 'approximate:bool',
  HashtableOptions: 'tableId:i32 keyType:i8 valueType:i8',
  IfOptions: 'thenSubgraph:i32 elseSubgraph:i32',
  L2NormOptions: 'activation:i8',
  LSHProjectionOptions: 'type:i8',
  LSTMOptions: 'activation:i8 cellClip:f32 projClip:f32 kernelType:i8 asymmetricQuantizeInputs:bool',
  LeakyReluOptions: 'alpha:f32',
  LocalResponseNormalizationOptions: 'radius:i32 bias:f32 alpha:f32 beta:f32',
  MirrorPadOptions: 'mode:i8',
  MulOptions: 'activation:i8',
  OneHotOptions: 'axis:i32',
  PackOptions: 'count:i32 axis:i32',
  Pool2DOptions: 'padding:i8 strideW:i32 strideH:i32 width:i32 height:i32 activation:i8',
  RNNOptions: 'activation:i8 asymmetricQuantizeInputs:bool',
  RandomOptions: 'seed:i64 seed2:i64',
  ReducerOptions: 'keepDims:bool',
  ReshapeOptions: 'newShape:[i32]',
  ResizeBilinearOptions: 'height:i32 width:i32 alignCorners:bool halfPixelCenters:bool',
  ResizeNearestNeighborOptions: 'alignCorners:bool halfPixelCenters:bool',
  ReverseSequenceOptions: 'sequenceDim:i32 batchDim:i32',
  SVDFOptions: 'rank:i32 activation:i8 asymmetricQuantizeInputs:bool',
  SequenceRNNOptions: 'timeMajor:bool activation:i8 asymmetricQuantizeInputs:bool',
  ShapeOptions: 'outType:i8',
  SkipGramOptions: 'size:i32 maxSkip:i32 all:bool',
  SoftmaxOptions: 'beta:f32',
  SpaceToDepthOptions: 'blockSize:i32',
  SparseToDenseOptions: 'validate:bool',
  SplitOptions: 'splits:i32',
  SplitVOptions: 'splits:i32',
  SqueezeOptions: 'dims:[i32]',
  StridedSliceOptions: 'beginMask:i32 endMask:i32 ellipsisMask:i32 newAxisMask:i32 shrinkAxisMask:i32 offset:bool',
  SubOptions: 'activation:i8 potScaleInt16:bool',
  TransposeConvOptions: 'padding:i8 strideW:i32 strideH:i32 activation:i8 quantizedBiasType:i8',
  UnidirectionalSequenceLSTMOptions:
    'activation:i8 cellClip:f32 projClip:f32 timeMajor:bool asymmetricQuantizeInputs:bool diagonalRecurrent:bool',
  UniqueOptions: 'indexType:i8',
  UnpackOptions: 'count:i32 axis:i32',
  VarHandleOptions: 'container:string sharedName:string',
  WhileOptions: 'condSubgraph:i32 bodySubgraph:i32',
}

export const TFLITE: FlatSchema = {
  unions: {
    BuiltinOptions: OPTIONS,
    BuiltinOptions2: [],
    QuantizationDetails: ['CustomQuantization'],
  },
  tables: {
    ...OPTION_FIELDS,
    Buffer: 'data:bytes offset:u64 size:u64',
    CustomQuantization: 'custom:bytes',
    Metadata: 'name:string buffer:u32',
    Model:
      'version:u32 operatorCodes:[OperatorCode] subgraphs:[SubGraph] description:string buffers:[Buffer] metadataBuffer:[i32] metadata:[Metadata] signatureDefs:[SignatureDef]',
    Operator:
      'opcodeIndex:u32 inputs:[i32] outputs:[i32] builtinOptions:BuiltinOptions customOptions:bytes customOptionsFormat:i8 mutatingVariableInputs:[bool] intermediates:[i32] largeCustomOptionsOffset:u64 largeCustomOptionsSize:u64 builtinOptions2:BuiltinOptions2',
    OperatorCode: 'deprecatedBuiltinCode:i8 customCode:string version:i32 builtinCode:i32',
    QuantizationParameters:
      'min:[f32] max:[f32] scale:[f32] zeroPoint:[i64] details:QuantizationDetails quantizedDimension:i32',
    SignatureDef: 'inputs:[TensorMap] outputs:[TensorMap] signatureKey:string deprecatedTag:string subgraphIndex:u32',
    // Sparse weights are detected but not read.
    SparsityParameters: '',
    SubGraph: 'tensors:[Tensor] inputs:[i32] outputs:[i32] operators:[Operator] name:string',
    Tensor:
      'shape:[i32] type:i8 buffer:u32 name:string quantization:QuantizationParameters isVariable:bool sparsity:SparsityParameters shapeSignature:[i32] hasRank:bool',
    TensorMap: 'name:string tensorIndex:u32',
  },
}
