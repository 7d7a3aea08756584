/** The path of the session, which is never fetched again with other data. */
export const SESSION_PATH = '/api/v1/session'

/** Beginning of the key of the models to choose from. Not a path: loading them takes several requests. */
export const MODEL_CHOICES = 'model-choices'

/** How many of them a request loads. */
export const MODELS_PER_PAGE = 100

/** End of the key of a list that is loaded page by page. */
export const PAGES = 'pages'
