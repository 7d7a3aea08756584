import { expect, it } from 'vitest'
import { chooseFile, onnxPartsOf } from './choose-file.ts'

const of = (...paths: string[]) => paths.map((path, index) => ({ path, bytes: index + 1 }))
const chosen = (paths: string[], requested: string | null = null) => {
  const { file, note } = chooseFile('org/tiny', of(...paths), requested)
  return [file.path, note]
}

it('GGUF is preferred, and among its quantizations Q4_K_M, then the one closest to four bits', () => {
  expect([
    chosen(['README.md', 'model.safetensors', 'tiny.gguf']),
    chosen(['tiny-Q8_0.gguf', 'tiny-Q4_K_M.gguf', 'tiny-Q4_0.gguf', 'mmproj-f16.gguf']),
    chosen(['tiny-Q6_K.gguf', 'tiny-Q3_K_S.gguf', 'tiny-F16.gguf']),
    chosen(['tiny-Q4_K_M.gguf', 'tiny-Q8_0-00001-of-00002.gguf', 'tiny-Q8_0-00002-of-00002.gguf']),
  ]).toEqual([
    ['tiny.gguf', null],
    ['tiny-Q4_K_M.gguf', 'Chose tiny-Q4_K_M.gguf of 3 GGUF files.'],
    ['tiny-Q3_K_S.gguf', 'Chose tiny-Q3_K_S.gguf of 3 GGUF files.'],
    ['tiny-Q4_K_M.gguf', null],
  ])
})

it('without GGUF, the order is safetensors, ONNX, PyTorch, Keras, TFLite, pickle', () => {
  const kinds = ['model.safetensors', 'onnx/model.onnx', 'pytorch_model.bin', 'model.h5', 'a.tflite', 'm.pkl']
  expect(kinds.map((_, from) => chosen(['config.json', 'vocab.bin', ...kinds.slice(from)])[0])).toEqual(kinds)
  expect(chosen(['onnx/model_int8.onnx', 'onnx/model.onnx'])).toEqual([
    'onnx/model.onnx',
    'Chose onnx/model.onnx of 2 ONNX files.',
  ])
})

it('a file is named by its path, or a GGUF file by its quantization', () => {
  const files = ['a-Q4_0.gguf', 'a-Q8_0.gguf', 'sub/b.onnx']
  expect([chosen(files, 'sub/b.onnx'), chosen(files, 'q8_0')]).toEqual([
    ['sub/b.onnx', null],
    ['a-Q8_0.gguf', null],
  ])
  expect(() => chosen(files, 'c.onnx')).toThrow("org/tiny contains no file 'c.onnx'.")
})

it('ambiguous candidates are listed instead of guessed', () => {
  expect(() => chosen(['small-Q4_0.gguf', 'large-Q4_0.gguf'])).toThrow(
    'org/tiny contains several GGUF files: large-Q4_0.gguf, small-Q4_0.gguf.',
  )
  expect(() => chosen(['a.pt', 'b.pt'])).toThrow('org/tiny contains several PyTorch files: a.pt, b.pt.')
})

it('a model in pieces and a repository without a model are reported as such', () => {
  expect(() => chosen(['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'])).toThrow(
    'org/tiny has its model in 2 pieces, but a version is one file.',
  )
  expect(() => chosen(['README.md'])).toThrow('org/tiny contains no known model file.')
})

it('the first files of an ONNX model are its graphs in one precision, and every file that changes its results', () => {
  const modules = ['modules.json', 'sentence_bert_config.json', '1_Pooling/config.json', '2_Dense/config.json']
  const settings = ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja', ...modules]
  const others = ['README.md', 'model.safetensors', 'onnx/model_q4.onnx', 'onnx/model_q4.onnx_data', 'vocab.txt']
  const graph = ['onnx/model.onnx']
  expect(onnxPartsOf(of(...settings, ...others, ...graph))).toEqual([...settings, ...graph])
  const parts = (...paths: string[]) => onnxPartsOf(of('config.json', ...paths))?.slice(1) ?? null
  expect(parts('onnx/model_quantized.onnx', 'onnx/model_q4.onnx')).toEqual(['onnx/model_quantized.onnx'])
  expect(parts('model.onnx')).toEqual(['model.onnx'])
  const whisper = ['onnx/encoder_model.onnx', 'onnx/decoder_model_merged_q4.onnx']
  expect(parts(...whisper, 'onnx/decoder_model.onnx')).toEqual(whisper)
  expect([parts('onnx/unet.onnx'), parts('tiny.gguf', 'onnx/model.onnx')]).toEqual([null, null])
})
