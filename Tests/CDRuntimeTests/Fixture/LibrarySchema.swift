/// The tables and indexes that a store of LibraryDescription has, tables first, in the order of their names.
enum LibrarySchema {
  static let statements = text.split(separator: "\n").map(String.init)

  private static let text = """
    CREATE TABLE "Author" ("_pk" INTEGER PRIMARY KEY, "_version" INTEGER NOT NULL, "name" TEXT NOT NULL, \
    "spouse" INTEGER REFERENCES "Author" ("_pk") DEFERRABLE INITIALLY DEFERRED) STRICT
    CREATE TABLE "Author.friends" ("_source" INTEGER NOT NULL REFERENCES "Author" ("_pk") ON DELETE \
    CASCADE DEFERRABLE INITIALLY DEFERRED, "_target" INTEGER NOT NULL REFERENCES "Author" ("_pk") ON \
    DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, PRIMARY KEY ("_source", "_target")) STRICT, WITHOUT \
    ROWID
    CREATE TABLE "Book.tags" ("_source" INTEGER NOT NULL REFERENCES "Publication" ("_pk") ON DELETE \
    CASCADE DEFERRABLE INITIALLY DEFERRED, "_target" INTEGER NOT NULL REFERENCES "Tag" ("_pk") ON DELETE \
    CASCADE DEFERRABLE INITIALLY DEFERRED, "_inverse_position" INTEGER, PRIMARY KEY ("_source", \
    "_target")) STRICT, WITHOUT ROWID
    CREATE TABLE "Publication" ("_pk" INTEGER PRIMARY KEY, "_version" INTEGER NOT NULL, "_entity" TEXT \
    NOT NULL, "title" TEXT NOT NULL, "uuid" BLOB NOT NULL, "author" INTEGER NOT NULL REFERENCES "Author" \
    ("_pk") DEFERRABLE INITIALLY DEFERRED, "isbn" TEXT, "salesRank" INTEGER, "priority" INTEGER, \
    "settings" TEXT, "added" REAL, "shippedTo.street" TEXT, "shippedTo.city" TEXT, "price" TEXT, \
    "reviewCount" INTEGER, "prequel" INTEGER REFERENCES "Publication" ("_pk") DEFERRABLE INITIALLY \
    DEFERRED, "issue" INTEGER, CHECK ("_entity" NOT IN ('Book') OR "isbn" IS NOT NULL), CHECK ("_entity" \
    NOT IN ('Book') OR "priority" IS NOT NULL), CHECK ("_entity" NOT IN ('Book') OR "added" IS NOT \
    NULL), CHECK ("_entity" NOT IN ('Book') OR "price" IS NOT NULL), CHECK ("_entity" NOT IN \
    ('Magazine') OR "issue" IS NOT NULL)) STRICT
    CREATE TABLE "Review" ("_pk" INTEGER PRIMARY KEY, "_version" INTEGER NOT NULL, "stars" INTEGER NOT \
    NULL, "text" TEXT, "book" INTEGER REFERENCES "Publication" ("_pk") DEFERRABLE INITIALLY DEFERRED, \
    "book.position" INTEGER) STRICT
    CREATE TABLE "Shelf" ("_pk" INTEGER PRIMARY KEY, "_version" INTEGER NOT NULL, "label" TEXT, \
    "favourite" INTEGER REFERENCES "Publication" ("_pk") ON DELETE SET NULL DEFERRABLE INITIALLY \
    DEFERRED) STRICT
    CREATE TABLE "Shelf.books" ("_source" INTEGER NOT NULL REFERENCES "Shelf" ("_pk") ON DELETE CASCADE \
    DEFERRABLE INITIALLY DEFERRED, "_target" INTEGER NOT NULL REFERENCES "Publication" ("_pk") ON DELETE \
    CASCADE DEFERRABLE INITIALLY DEFERRED, "_position" INTEGER, PRIMARY KEY ("_source", "_target")) \
    STRICT, WITHOUT ROWID
    CREATE TABLE "Tag" ("_pk" INTEGER PRIMARY KEY, "_version" INTEGER NOT NULL, "name" TEXT NOT NULL) \
    STRICT
    CREATE TABLE "_cdgen_files" ("name" TEXT NOT NULL PRIMARY KEY, "time" REAL NOT NULL) STRICT, WITHOUT \
    ROWID
    CREATE TABLE "_cdgen_history" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "time" REAL NOT NULL, \
    "origin" TEXT NOT NULL, "author" TEXT, "changes" TEXT NOT NULL) STRICT
    CREATE TABLE "_cdgen_keys" ("entity" TEXT NOT NULL PRIMARY KEY, "next" INTEGER NOT NULL) STRICT, \
    WITHOUT ROWID
    CREATE TABLE "_cdgen_metadata" ("key" TEXT NOT NULL PRIMARY KEY, "value" TEXT NOT NULL) STRICT, \
    WITHOUT ROWID
    CREATE TABLE sqlite_sequence(name,seq)
    CREATE INDEX "Author.friends._target" ON "Author.friends" ("_target")
    CREATE UNIQUE INDEX "Author.spouse" ON "Author" ("spouse")
    CREATE INDEX "Book.index.priority.-salesRank" ON "Publication" ("priority", "salesRank" DESC) WHERE \
    "_entity" IN ('Book')
    CREATE INDEX "Book.tags._target" ON "Book.tags" ("_target")
    CREATE UNIQUE INDEX "Book.unique.isbn" ON "Publication" ("isbn") WHERE "_entity" IN ('Book')
    CREATE INDEX "Publication._entity" ON "Publication" ("_entity")
    CREATE INDEX "Publication.author" ON "Publication" ("author")
    CREATE INDEX "Publication.index.title" ON "Publication" ("title")
    CREATE UNIQUE INDEX "Publication.prequel" ON "Publication" ("prequel")
    CREATE INDEX "Review.book" ON "Review" ("book", "book.position")
    CREATE INDEX "Shelf.books._target" ON "Shelf.books" ("_target")
    CREATE INDEX "Shelf.favourite" ON "Shelf" ("favourite")
    CREATE UNIQUE INDEX "Tag.unique.name" ON "Tag" ("name")
    """
}
