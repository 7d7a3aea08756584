import { isArray } from '../../tensors/numpy-pickle.ts'
import { isObject } from '../../tensors/sklearn-objects.ts'
import { columnParts } from './compose.ts'
import { categoriesOf } from './encoders.ts'
import { Estimator } from './estimator.ts'

const MAX_DEPTH = 16

/** The type of a column; null if nothing uses it. */
type Use = 'f32' | 'string' | null

const merged = (a: Use, b: Use): Use => (a === 'string' || b === null ? a : b)

/** The type of each column: strings if the estimator, or an inner one with the same columns, encodes them. */
export const columnUses = (estimator: Estimator, columns: number, depth = 0): Use[] => {
  const numbers = Array<Use>(columns).fill('f32')
  if (depth > MAX_DEPTH) return numbers
  switch (estimator.type) {
    case 'OneHotEncoder':
    case 'OrdinalEncoder':
    case 'TargetEncoder':
      return categoriesOf(estimator).map((own) => ('texts' in own ? 'string' : 'f32'))
    case 'CountVectorizer':
    case 'TfidfVectorizer':
      return ['string']
    case 'LabelEncoder':
      return ['texts' in estimator.labels('classes_') ? 'string' : 'f32']
    case 'SimpleImputer': {
      const statistics = estimator.get('statistics_')
      return numbers.map((_, at) =>
        isArray(statistics) && typeof statistics.items[at] === 'string' ? 'string' : 'f32',
      )
    }
    case 'ColumnTransformer': {
      const uses = Array<Use>(columns).fill(null)
      for (const { value, columns: indices } of columnParts(estimator, columns)) {
        const step = isObject(value) ? new Estimator(value, estimator.reading) : null
        const own = step === null ? [] : columnUses(step, indices.length, depth + 1)
        for (const [at, column] of indices.entries()) uses[column] = merged(uses[column]!, own[at] ?? 'f32')
      }
      return uses
    }
    default: {
      const each = estimator.inner().map((own) => columnUses(own, columns, depth + 1))
      const uses = each.filter(({ length }) => length === columns)
      if (uses.length === 0) return numbers
      return numbers.map((_, at) => uses.reduce<Use>((use, own) => merged(use, own[at]!), null))
    }
  }
}
