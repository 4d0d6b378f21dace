// A typed client of an Assay agency. Types and paths are those of the OpenAPI document (schema.d.ts, generated).
import createFetchClient, { type Client as FetchClient } from "openapi-fetch";
import type { components, operations, paths } from "./schema.js";

export type { components, operations, paths };

/** What is asked of the agency: the service, the method and its settings. */
export type RatingRequest = components["schemas"]["RatingRequest"];
/** A rating as the agency shows it. */
export type Rating = operations["getRating"]["responses"][200]["content"]["application/json"];
/** A job with its status. */
export type Job = operations["getJob"]["responses"][200]["content"]["application/json"];

/** Longest time in seconds for which the agency holds an answer back. */
const LONGEST_POLL_S = 30;

/** A request that the agency refused, as its problem document (RFC 9457) says. */
export class ProblemError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Record<string, unknown>,
  ) {
    super(String(problem["detail"] ?? problem["title"] ?? `HTTP status ${status}`));
    this.name = "ProblemError";
  }
}

/** A job that ended without a rating: it failed or was cancelled. */
export class JobFailed extends Error {
  constructor(readonly job: Job) {
    super(`The job ${job.id} is ${job.status}: ${JSON.stringify(job.error ?? null)}`);
    this.name = "JobFailed";
  }
}

export interface Options {
  /** API key; an agency on loopback alone may need none. */
  key?: string;
}

/** Client of one agency: `api` has every operation, the methods those that need several requests. */
export class Client {
  readonly api: FetchClient<paths>;

  constructor(baseUrl: string, options: Options = {}) {
    const headers = options.key === undefined ? {} : { Authorization: `Bearer ${options.key}` };
    this.api = createFetchClient<paths>({ baseUrl, headers });
  }

  /**
   * Request a rating, wait for its job, and return the rating.
   *
   * The request carries a new idempotency key. Abort `signal` to stop waiting; the job goes on.
   */
  async rate(request: RatingRequest, signal?: AbortSignal): Promise<Rating> {
    const header = { "idempotency-key": crypto.randomUUID() };
    const posted = await this.api.POST("/v1/jobs", { body: request, params: { header }, signal: signal ?? null });
    const job = await this.ended(content(posted).id, signal);
    if (!job.rating) throw new JobFailed(job);
    const path = { rating_id: job.rating.id };
    const read = await this.api.GET("/v1/ratings/{rating_id}", { params: { path }, signal: signal ?? null });
    return content(read) as Rating; // openapi-fetch reads a pair as an array of any length
  }

  /** Wait until a job has ended, by long polling. */
  async ended(jobId: string, signal?: AbortSignal): Promise<Job> {
    for (;;) {
      const params = { path: { job_id: jobId }, header: { prefer: `wait=${LONGEST_POLL_S}` } };
      const job = content(await this.api.GET("/v1/jobs/{job_id}", { params, signal: signal ?? null }));
      if (job.status !== "queued" && job.status !== "running") return job;
    }
  }
}

/** Return the content of an answer, or throw its problem. */
export function content<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (answer.data === undefined) {
    throw new ProblemError(answer.response.status, (answer.error ?? {}) as Record<string, unknown>);
  }
  return answer.data;
}
