import { TransferError } from '../../platform/transfer/transfer-error.ts'
import { PRECISIONS } from '../engines/onnx/onnx-files.ts'
import { bitsOf, normalVariant, variantInName } from '../models/variant.ts'

/** A file in a repository's list. */
export interface ListedFile {
  readonly path: string
  readonly bytes: number
}

const LISTED_IN_AN_ERROR = 12

const isGguf = ({ path }: ListedFile): boolean => /\.gguf$/i.test(path) && !/mmproj/i.test(path)

/** True for a part of a split model: `-00002-of-00005`. */
const isPiece = ({ path }: ListedFile): boolean => /-\d{5}-of-\d{5}\./.test(path)

/** The kinds of model files after GGUF, which runs anywhere here: first weights without code, then the others. */
const KINDS: readonly { readonly name: string; readonly ending: RegExp; readonly usual: RegExp }[] = [
  { name: 'safetensors', ending: /\.safetensors$/i, usual: /^model\.safetensors$/ },
  { name: 'ONNX', ending: /\.onnx$/i, usual: /^(onnx\/)?model\.onnx$/ },
  { name: 'PyTorch', ending: /(\.(pt|pth)|(^|\/)pytorch_model\.bin)$/i, usual: /^pytorch_model\.bin$/ },
  { name: 'Keras', ending: /\.(h5|keras)$/i, usual: /^(tf_model\.h5|model\.keras)$/ },
  { name: 'TFLite', ending: /\.tflite$/i, usual: /^model\.tflite$/ },
  { name: 'scikit-learn or XGBoost', ending: /\.(pkl|joblib|ubj)$/i, usual: /^(sklearn_model|model)\.\w+$/ },
]

/** Returns the kind of a model file that is not GGUF; null for other files. */
export const kindOfFile = (path: string): string | null => KINDS.find(({ ending }) => ending.test(path))?.name ?? null

const named = (files: readonly ListedFile[]): string => {
  const paths = files.map(({ path }) => path).sort()
  const more = paths.length - LISTED_IN_AN_ERROR
  return paths.slice(0, LISTED_IN_AN_ERROR).join(', ') + (more > 0 ? `, and ${more} more` : '')
}

/** Ranks quantizations: four bits first, as everywhere here, K_M before its neighbors; then the closest to four bits. */
const rank = ({ path }: ListedFile): readonly [number, number] => {
  const variant = variantInName(path.split('/').at(-1)!) ?? ''
  const usual = ['q4_k_m', 'q4_0', 'q4_k_s', 'q4_1', 'iq4_xs', 'q5_k_m', 'q8_0'].indexOf(variant)
  return [usual < 0 ? 99 : usual, Math.abs((bitsOf(variant) ?? 99) - 4)]
}

const withoutVariant = ({ path }: ListedFile): string => {
  const variant = variantInName(path.split('/').at(-1)!)
  const plain = path.toLowerCase().replaceAll('-', '_')
  return variant === null ? plain : plain.replace(variant, '')
}

const oneOfSeveral = (repo: string, what: string, files: readonly ListedFile[]): TransferError =>
  new TransferError(`${repo} contains several ${what} files: ${named(files)}.`, {
    advice: `Choose one: hf:${repo}:<file>`,
  })

const chooseGguf = (repo: string, files: readonly ListedFile[]): ListedFile => {
  const quantized = files.filter(({ path }) => variantInName(path.split('/').at(-1)!) !== null)
  const models = new Set(files.map(withoutVariant))
  if (files.length > 1 && (models.size > 1 || quantized.length < files.length)) {
    throw oneOfSeveral(repo, 'GGUF', files)
  }
  return [...files].sort((one, other) => {
    const [a, b] = [rank(one), rank(other)]
    return a[0] - b[0] || a[1] - b[1] || one.bytes - other.bytes
  })[0]!
}

const chooseNamed = (repo: string, files: readonly ListedFile[], requested: string): ListedFile => {
  const exact = files.find(({ path }) => path === requested)
  if (exact !== undefined) return exact
  const fitting = files
    .filter(isGguf)
    .filter((file) => normalVariant(variantInName(file.path.split('/').at(-1)!) ?? '') === normalVariant(requested))
  if (fitting.length > 1) throw oneOfSeveral(repo, requested, fitting)
  if (fitting[0] !== undefined) return fitting[0]
  throw new TransferError(`${repo} contains no file '${requested}'.`, { advice: `It contains ${named(files)}.` })
}

/** Files that determine an ONNX model's results: configuration, tokenizer, chat template, and sentence-transformers modules. */
const ONNX_SETTINGS =
  /^((|generation_|preprocessor_|tokenizer_|sentence_bert_)config\.json|config_sentence_transformers\.json|modules\.json|tokenizer\.json|chat_template\.jinja|\d+_\w+\/config\.json)$/
const ONNX_GRAPHS = [['encoder_model', 'decoder_model_merged'], ['model']]

/** Returns each graph in the precision that the engine would choose from the whole repository, or null if one is missing. */
const graphsIn = (paths: ReadonlySet<string>, folder: string, stems: readonly string[]): readonly string[] | null => {
  const found = stems.map((stem) =>
    PRECISIONS.map(([ending]) => `${folder}${stem}${ending}.onnx`).find((path) => paths.has(path)),
  )
  return found.every((path) => path !== undefined) ? found : null
}

/**
 * Returns the paths of an ONNX model's files if the repository has one and no GGUF file; otherwise null. Only the graphs name
 * further files that have their weights.
 */
export const onnxPartsOf = (files: readonly ListedFile[]): readonly string[] | null => {
  const paths = new Set(files.map(({ path }) => path))
  const graphs = ['onnx/', '']
    .flatMap((folder) => ONNX_GRAPHS.map((stems) => graphsIn(paths, folder, stems)))
    .find((found) => found !== null)
  if (graphs === undefined || files.some(isGguf) || !paths.has('config.json')) return null
  return [...paths].filter((path) => ONNX_SETTINGS.test(path) || graphs.includes(path))
}

/**
 * Chooses a repository's model file, with a note if there were several.
 * @throws TransferError that lists the candidates if none is preferred; also if there are none
 */
export const chooseFile = (
  repo: string,
  files: readonly ListedFile[],
  requested: string | null,
): { readonly file: ListedFile; readonly note: string | null } => {
  if (requested !== null) return { file: chooseNamed(repo, files, requested), note: null }
  const ggufs = files.filter(isGguf)
  const whole = ggufs.filter((file) => !isPiece(file))
  if (whole.length > 0) {
    const file = chooseGguf(repo, whole)
    const others = whole.filter((other) => other !== file)
    return { file, note: others.length === 0 ? null : `Chose ${file.path} of ${whole.length} GGUF files.` }
  }
  for (const { name, ending, usual } of KINDS) {
    const all = files.filter(({ path }) => ending.test(path))
    const fitting = all.filter((file) => !isPiece(file))
    const file = fitting.length === 1 ? fitting[0] : fitting.find(({ path }) => usual.test(path))
    if (file !== undefined)
      return { file, note: fitting.length > 1 ? `Chose ${file.path} of ${fitting.length} ${name} files.` : null }
    if (fitting.length > 1) throw oneOfSeveral(repo, name, fitting)
  }
  const pieces = files.filter(isPiece)
  if (pieces.length > 0) {
    throw new TransferError(`${repo} has its model in ${pieces.length} pieces, but a version is one file.`, {
      advice: 'Use a repository that has it in one piece, such as a smaller quantization.',
    })
  }
  throw new TransferError(`${repo} contains no known model file.`, {
    advice: files.length === 0 ? 'It is empty.' : `It contains ${named(files)}.`,
  })
}
