"""Tables of the inputs of jobs: corpora with sentences and pictures, uploads, and specifications."""

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, LargeBinary, UniqueConstraint

from migrations.columns import optional, required
from store.core.columns import AnyText, Json, Packed, define_table

corpora = define_table(
    "corpora",
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "kind", "name", "language", "attribute"),
    Column("specification", AnyText),  # name of the specification that the items follow; NULL for none
    *optional(specification_version=Integer, specification_digest=AnyText),
    Column("words", Packed),  # copy of the specification's words, for readers of a shared corpus
    *required(AnyText, "licence", "citation", "description"),
    Column("visibility", AnyText, nullable=False),  # shared: every tenant can read, only the owner can write
    Column("version", Integer, nullable=False),  # incremented by each change, also of the items
    *required(BigInteger, "created_at", "updated_at"),
    Column("removed_at", BigInteger),
    CheckConstraint("kind IN ('sentences', 'images')", name="kind_is_known"),
    CheckConstraint("visibility IN ('private', 'shared')", name="visibility_is_known"),
    Index(None, "tenant", "created_at", "id"),
    Index(None, "visibility", "created_at", "id"),
    info={"counted": ("name", "words", "licence", "citation", "description", "attribute")},
)

corpus_items = define_table(
    "corpus_items",
    Column("id", AnyText, primary_key=True),
    Column("corpus_id", AnyText, ForeignKey("corpora.id", ondelete="CASCADE"), nullable=False),
    Column("seq", Integer, nullable=False),  # position in the corpus
    Column("digest", AnyText, nullable=False),  # digest of the normalised text or of the image file
    # columns of a sentence, NULL for a picture
    *optional(AnyText, "text", "group_term", "attribute_term", "counterpart"),
    # columns of a picture, NULL for a sentence
    *optional(AnyText, "image", "term"),
    *required(source=AnyText, provenance=Json, created_at=BigInteger),
    Column("removed_at", BigInteger),
    UniqueConstraint("corpus_id", "seq"),
    UniqueConstraint("corpus_id", "digest"),
    CheckConstraint("(text IS NULL) <> (image IS NULL)", name="a_text_or_an_image"),
    CheckConstraint("source IN ('written', 'uploaded', 'template', 'edited')", name="source_is_known"),
    Index(None, "image"),
    info={"counted": ("text", "group_term", "attribute_term", "counterpart", "term", "provenance")},
)

images = define_table(
    "images",
    Column("tenant", AnyText, primary_key=True),
    Column("digest", AnyText, primary_key=True),
    *required(media_type=AnyText, width=Integer, height=Integer),
    Column("size", Integer, nullable=False),  # size of the file in bytes
    Column("content", LargeBinary, nullable=False),
    Column("thumbnail", AnyText),  # small picture as a data: URL; NULL for images from before thumbnails
    Column("created_at", BigInteger, nullable=False),
    info={"counted": ("size", "thumbnail")},
)

uploads = define_table(
    "uploads",
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "name", "purpose", "media_type", "digest", bytes=BigInteger, summary=Packed),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("tenant", "digest", "purpose"),
    CheckConstraint("purpose IN ('table', 'embedding', 'trials')", name="purpose_is_known"),
    Index(None, "tenant", "created_at", "id"),
    info={"counted": ("bytes", "name", "summary")},
)

upload_chunks = define_table(
    "upload_chunks",
    Column("upload_id", AnyText, ForeignKey("uploads.id", ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
)

specifications = define_table(
    "specifications",
    Column("tenant", AnyText, primary_key=True),
    Column("name", AnyText, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    *required(AnyText, "title", "kind", "language", "citation", words=Packed, digest=AnyText),
    Column("created_at", BigInteger, nullable=False),
    Column("removed_at", BigInteger),
    CheckConstraint("kind IN ('choices', 'association', 'stereotype', 'visual')", name="kind_is_known"),
    Index(None, "tenant", "created_at", "name"),
    info={"counted": ("title", "citation", "words")},
)
