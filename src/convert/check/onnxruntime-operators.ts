const names = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/**
 * The operators of each domain that onnxruntime 1.30 loads on a CPU: those with a kernel
 * (onnxruntime_pybind11_state.get_all_opkernel_def), and those that ONNX defines as functions of others.
 */
export const ONNXRUNTIME_OPERATORS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    '',
    names(`
    Abs Acos Acosh Add Affine AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool
    BatchNormalization Bernoulli BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Cast
    CastLike CausalConvWithState Ceil Celu CenterCropPad Clip Col2Im Compress Concat ConcatFromSequence Constant
    ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh Crop CumProd CumSum DFT DeformConv DepthToSpace
    DequantizeLinear Det Div Dropout DynamicQuantizeLinear DynamicSlice Einsum Elu Equal Erf Exp Expand EyeLike
    Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater
    GreaterOrEqual GridSample GroupNormalization HammingWindow HannWindow HardSigmoid HardSwish Hardmax Identity If
    ImageScaler InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual
    LinearAttention Log LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max MaxPool MaxRoiPool MaxUnpool
    Mean MeanVarianceNormalization MelWeightMatrix Min Mish Mod Mul Multinomial Neg NegativeLogLikelihoodLoss
    NonMaxSuppression NonZero Not OneHot Optional OptionalGetElement OptionalHasElement Or PRelu Pad
    ParametricSoftplus Pow QLinearConv QLinearMatMul QuantizeLinear RMSNormalization RNN RandomNormal RandomNormalLike
    RandomUniform RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax
    ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare RegexFullMatch Relu Reshape Resize ReverseSequence
    RoiAlign RotaryEmbedding Round STFT Scale ScaledTanh Scan Scatter ScatterElements ScatterND Selu SequenceAt
    SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap Shape Shrink Sigmoid Sign
    SimplifiedLayerNormalization Sin Sinh Size Slice Softmax SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth
    Split SplitToSequence Sqrt Squeeze StringConcat StringNormalizer StringSplit Sub Sum Swish Tan Tanh TensorScatter
    TfIdfVectorizer ThresholdedRelu Tile TopK Transpose Trilu Unique Unsqueeze Upsample Where Xor
    `),
  ],
  [
    'ai.onnx.ml',
    names(`
    ArrayFeatureExtractor Binarizer CastMap CategoryMapper DictVectorizer FeatureVectorizer Imputer LabelEncoder
    LinearClassifier LinearRegressor Normalizer OneHotEncoder SVMClassifier SVMRegressor Scaler TreeEnsemble
    TreeEnsembleClassifier TreeEnsembleRegressor ZipMap
    `),
  ],
  [
    'com.microsoft',
    names(`
    Attention AttnLSTM BeamSearch BiasGelu BifurcationDetector CDist CausalConvWithState ConvTransposeWithDynamicPads
    CropAndResize DecoderMaskedMultiHeadAttention DequantizeLinear DynamicQuantizeLSTM DynamicQuantizeMatMul
    DynamicTimeWarping EmbedLayerNormalization EngramGate ExpandDims FastGelu FusedConv FusedGemm FusedMatMul GatedAdd
    GatedRMSNorm GatherBlockQuantized GatherND Gelu GreedySearch GridSample GroupQueryAttention Inverse
    LinearAttention LinearAttentionGate MRotaryEmbedding MatMulBnb4 MatMulFpQ4 MatMulInteger16 MatMulIntegerToFloat
    MatMulNBits MaxpoolWithMask MoE MultiHeadAttention MurmurHash3 NGramHashMapping NGramRepeatBlock NhwcMaxPool Pad
    QAttention QEmbedLayerNormalization QGemm QLinearAdd QLinearAveragePool QLinearConcat QLinearConv
    QLinearGlobalAveragePool QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearSoftmax QLinearWhere QMoE
    QuantizeLinear QuickGelu Range RotaryEmbedding SampleOp Sampling SkipLayerNormalization
    SkipSimplifiedLayerNormalization SparseAttention SparseToDenseMatMul Tokenizer TransposeMatMul Trilu UnfoldTensor
    Unique WhisperBeamSearch WordConvEmbedding
    `),
  ],
])
