"""Old evidence outside the database: sealed files in a folder or an S3-compatible store."""
