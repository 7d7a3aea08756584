export const GOALS = ['minimize', 'maximize'] as const
export type Goal = (typeof GOALS)[number]

const LOWER_IS_BETTER = new Set(
  (
    'loss losses logloss mlogloss xent nll nloglik error errors merror err errs cost costs perplexity perplexities ppl entropy ' +
    'crossentropy divergence kl kld jsd deviance regret hinge brier mse rmse nrmse msle rmsle mae mape smape mase wape wer cer eer ' +
    'ece fid kid fpr fnr false latency latencies duration durations time times seconds second secs sec ms millis milliseconds minutes ' +
    'crash crashes crashed failure failures failed fail fails timeout timeouts rejection rejections rejected drop drops dropped ' +
    'retry retries violation violations hallucination hallucinations jitter memory rss oom energy drain'
  ).split(' '),
)

/** Only words that occur together with a minimized word, as in `error_detection_accuracy`: others are maximized by default. */
const HIGHER_IS_BETTER = new Set(
  (
    'accuracy acc precision recall sensitivity specificity f auc auroc auprc roc iou dice ssim psnr bleu rouge meteor likelihood ' +
    'correct hits reward return gain reduction improvement similarity correlation throughput bandwidth speed fps qps free available ' +
    'remaining headroom saved savings efficiency success successes recovery'
  ).split(' '),
)

/** The words before a preposition name what is measured: `time_to_accuracy` is a time. */
const PREPOSITIONS = new Set('at between by for in of on over per to'.split(' '))
const NEGATIONS = new Set(['neg', 'negative', 'minus'])
/** `free_memory` is maximized, but not `free_energy_loss`. */
const SPARE = new Set(['free', 'available', 'remaining', 'saved'])
const RESOURCES = new Set(['memory', 'time', 'seconds', 'minutes'])
/** Prefixes that are joined to a metric's name in lower case, as in `valloss`. */
const SPLIT = /^(?:train|training|val|valid|validation|test|eval|dev)(.+)$/
/** Suffixes that are joined to what is measured in lower case, as in `bceloss` and `meansquarederror`. */
const JOINED = /(?:loss|losses|error|errors|perplexity|entropy|divergence)$/

/** `valLoss`, `val_loss`, `val/loss`, `VALLoss`, and `valloss` are the words `val` and `loss`. Digits separate words. */
const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase())
    .map((word) => {
      const behind = SPLIT.exec(word)?.[1]
      return behind !== undefined && LOWER_IS_BETTER.has(behind) ? behind : (JOINED.exec(word)?.[0] ?? word)
    })

/** Determines the goal from the last known word; null if there is none. */
const goalIn = (words: readonly string[]): Goal | null => {
  const telling = words.findLast((word) => LOWER_IS_BETTER.has(word) || HIGHER_IS_BETTER.has(word))
  if (telling === undefined) return null
  const isMinimized = LOWER_IS_BETTER.has(telling)
  // The negative of a loss, as scikit-learn's neg_log_loss, or of a likelihood; but not the precision of the negative class.
  const isNegated =
    (NEGATIONS.has(words[0]!) && (isMinimized || telling === 'likelihood')) ||
    (SPARE.has(words[0]!) && RESOURCES.has(telling))
  return isMinimized === isNegated ? 'maximize' : 'minimize'
}

/**
 * Infers from a metric's name which values are better: losses, errors, failures, costs, times, and memory are minimized, others
 * maximized.
 */
export const goalOf = (name: string): Goal => {
  const words = wordsOf(name)
  const at = words.findIndex((word, index) => index > 0 && PREPOSITIONS.has(word))
  const measured = at === -1 ? words : words.slice(0, at)
  // The words after `per`, as in tokens_per_second, do not matter.
  const rest = at === -1 || words[at] === 'per' ? [] : words.slice(at + 1)
  return goalIn(measured) ?? goalIn(rest) ?? 'maximize'
}
