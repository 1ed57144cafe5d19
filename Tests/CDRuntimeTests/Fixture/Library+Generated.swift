// What the generator writes for LibraryDescription, by hand: see the contract with generated code.
@_spi(Generated) import CDRuntime
import Foundation

struct BookSettings: Codable, Hashable, Sendable {
  var fontSize: Int
}

nonisolated enum Priority: Int16, CDRuntime.EnumAttribute {
  case low = 0
  case normal = 1
  case high = 2
}

nonisolated struct Address: CDRuntime.CompositeAttribute {
  var street: String
  var city: String?
  init(street: String, city: String? = nil) {
    self.street = street
    self.city = city
  }
  init(_row row: CDRuntime.RowReader, _ column: Int) {
    street = row.string(column)
    city = row.optionalString(column + 1)
  }
  func _encode(_ writer: CDRuntime.RowWriter) {
    writer.string(street)
    writer.optionalString(city)
  }
  static var _empty: Self { Self(street: "") }
  static var _columnCount: Int { 2 }
}

nonisolated class Publication: CDRuntime.ManagedObject, CDRuntime.EntityClass {
  private final var _title: String = ""
  private final var _uuid: UUID = CDRuntime.EmptyValue.uuid
  private final var _author: CDRuntime.ObjectKey = 0

  final var title: String {
    get {
      _willRead()
      return _title
    }
    set {
      _willWrite(0)
      _title = newValue
    }
  }
  final var uuid: UUID {
    get {
      _willRead()
      return _uuid
    }
    set {
      _willWrite(1)
      _uuid = newValue
    }
  }
  final var author: Author {
    get {
      _willRead()
      return _toOne(_author, 2) ?? Author(_seed: _missing("Author"))
    }
    set { _setToOne(newValue, 2) }
  }

  override init(_seed: borrowing CDRuntime.ObjectSeed) { super.init(_seed: _seed) }
  override class var entityName: String { "Publication" }
  override func _setInsertionDefaults() {
    super._setInsertionDefaults()
    _uuid = UUID()
  }
  override func _decode(_ row: CDRuntime.RowReader) {
    super._decode(row)
    _title = row.string(0)
    _uuid = row.uuid(1)
    _author = row.key(2)
  }
  override func _encode(_ slot: Int, _ writer: CDRuntime.RowWriter) {
    switch slot {
    case 0: writer.string(_title)
    case 1: writer.uuid(_uuid)
    case 2: writer.key(_author)
    default: super._encode(slot, writer)
    }
  }
  override func _setReference(_ slot: Int, _ key: CDRuntime.ObjectKey) {
    switch slot {
    case 2: _author = key
    default: super._setReference(slot, key)
    }
  }
}

nonisolated class Book: Publication {
  private final var _isbn: String = ""
  private final var _salesRank: Int64? = nil
  private final var _priority: Int16 = 1
  private final var _settings = CDRuntime.CodableStorage<BookSettings>()
  private final var _added: Date = CDRuntime.EmptyValue.date
  private final var _shippedTo: Address? = nil
  private final var _price: Decimal = Decimal(string: "9.99") ?? CDRuntime.EmptyValue.decimal
  private final var _draft: Bool = false
  private final var _reviewCount: Int64? = nil
  private final var _prequel: CDRuntime.ObjectKey = 0

  final var isbn: String {
    get {
      _willRead()
      return _isbn
    }
    set {
      _willWrite(3)
      _isbn = newValue
    }
  }
  final var salesRank: Int64? {
    get {
      _willRead()
      return _salesRank
    }
    set {
      _willWrite(4)
      _salesRank = newValue
    }
  }
  final var priority: Priority {
    get {
      _willRead()
      return Priority(rawValue: _priority) ?? _unknown(.normal, 5)
    }
    set {
      _willWrite(5)
      _priority = newValue.rawValue
    }
  }
  final var settings: BookSettings? {
    get {
      _willRead()
      return _settings.value(of: self, 6)
    }
    set {
      _willWrite(6)
      _settings.set(newValue)
    }
  }
  final var added: Date {
    get {
      _willRead()
      return _added
    }
    set {
      _willWrite(7)
      _added = newValue
    }
  }
  final var shippedTo: Address? {
    get {
      _willRead()
      return _shippedTo
    }
    set {
      _willWrite(8)
      _shippedTo = newValue
    }
  }
  final var price: Decimal {
    get {
      _willRead()
      return _price
    }
    set {
      _willWrite(9)
      _price = newValue
    }
  }
  final var draft: Bool {
    get {
      _willRead()
      return _draft
    }
    set {
      _willWrite(10)
      _draft = newValue
    }
  }
  final var reviewCount: Int64? {
    _willRead()
    return _reviewCount
  }
  final var reviews: [Review] {
    get { _toMany(12) }
    set { _setToMany(newValue, 12) }
  }
  final func addToReviews(_ object: Review) { _add(object, 12) }
  final func removeFromReviews(_ object: Review) { _remove(object, 12) }
  final func insertIntoReviews(_ object: Review, at index: Int) { _insert(object, at: index, 12) }
  final var sequel: Book? {
    get { _toOneOfInverse(13) }
    set { _setToOne(newValue, 13) }
  }
  final var prequel: Book? {
    get {
      _willRead()
      return _toOne(_prequel, 14)
    }
    set { _setToOne(newValue, 14) }
  }
  final var tags: [Tag] {
    get { _toMany(15) }
    set { _setToMany(newValue, 15) }
  }
  final func addToTags(_ object: Tag) { _add(object, 15) }
  final func removeFromTags(_ object: Tag) { _remove(object, 15) }
  final var others: [Book] { _fetched("others") }

  init(title: String, isbn: String, author: Author, in context: CDRuntime.ManagedObjectContext) {
    super.init(_seed: CDRuntime.ObjectSeed(inserting: "Book", in: context, isComplete: true))
    self.title = title
    _isbn = isbn
    _setToOne(author, 2)
  }
  init(in context: CDRuntime.ManagedObjectContext) {
    super.init(_seed: CDRuntime.ObjectSeed(inserting: "Book", in: context))
  }
  override init(_seed: borrowing CDRuntime.ObjectSeed) { super.init(_seed: _seed) }
  override class var entityName: String { "Book" }
  override func _setInsertionDefaults() {
    super._setInsertionDefaults()
    _added = Date()
  }
  override func _decode(_ row: CDRuntime.RowReader) {
    super._decode(row)
    _isbn = row.string(3)
    _salesRank = row.optionalInt64(4)
    _priority = row.int16(5)
    _settings = row.codable(6)
    _added = row.date(7)
    _shippedTo = row.optionalComposite(8)
    _price = row.decimal(10)
    _reviewCount = row.optionalInt64(11)
    _prequel = row.key(12)
    if let row = row.transients { _draft = row.bool(10) }
  }
  override func _encode(_ slot: Int, _ writer: CDRuntime.RowWriter) {
    switch slot {
    case 3: writer.string(_isbn)
    case 4: writer.optionalInt64(_salesRank)
    case 5: writer.int16(_priority)
    case 6: writer.codable(_settings)
    case 7: writer.date(_added)
    case 8: writer.optionalComposite(_shippedTo)
    case 9: writer.decimal(_price)
    case 10: writer.bool(_draft)
    case 11: writer.optionalInt64(_reviewCount)
    case 14: writer.key(_prequel)
    default: super._encode(slot, writer)
    }
  }
  override func _setReference(_ slot: Int, _ key: CDRuntime.ObjectKey) {
    switch slot {
    case 14: _prequel = key
    default: super._setReference(slot, key)
    }
  }
}

nonisolated final class Magazine: Publication {
  private final var _issue: Int32 = 0
  final var issue: Int32 {
    get {
      _willRead()
      return _issue
    }
    set {
      _willWrite(3)
      _issue = newValue
    }
  }
  init(title: String, issue: Int32, author: Author, in context: CDRuntime.ManagedObjectContext) {
    super.init(_seed: CDRuntime.ObjectSeed(inserting: "Magazine", in: context, isComplete: true))
    self.title = title
    _issue = issue
    _setToOne(author, 2)
  }
  override init(_seed: borrowing CDRuntime.ObjectSeed) { super.init(_seed: _seed) }
  override class var entityName: String { "Magazine" }
  override func _decode(_ row: CDRuntime.RowReader) {
    super._decode(row)
    _issue = row.int32(3)
  }
  override func _encode(_ slot: Int, _ writer: CDRuntime.RowWriter) {
    switch slot {
    case 3: writer.int32(_issue)
    default: super._encode(slot, writer)
    }
  }
}

nonisolated class Author: CDRuntime.ManagedObject, CDRuntime.EntityClass {
  private final var _name: String = ""
  private final var _spouse: CDRuntime.ObjectKey = 0
  final var name: String {
    get {
      _willRead()
      return _name
    }
    set {
      _willWrite(0)
      _name = newValue
    }
  }
  final var publications: [Publication] {
    get { _toMany(1) }
    set { _setToMany(newValue, 1) }
  }
  final func addToPublications(_ object: Publication) { _add(object, 1) }
  final var friends: [Author] {
    get { _toMany(2) }
    set { _setToMany(newValue, 2) }
  }
  final func addToFriends(_ object: Author) { _add(object, 2) }
  final var spouse: Author? {
    get {
      _willRead()
      return _toOne(_spouse, 3)
    }
    set { _setToOne(newValue, 3) }
  }
  init(name: String, in context: CDRuntime.ManagedObjectContext) {
    super.init(_seed: CDRuntime.ObjectSeed(inserting: "Author", in: context, isComplete: true))
    _name = name
  }
  override init(_seed: borrowing CDRuntime.ObjectSeed) { super.init(_seed: _seed) }
  override class var entityName: String { "Author" }
  override func _decode(_ row: CDRuntime.RowReader) {
    super._decode(row)
    _name = row.string(0)
    _spouse = row.key(1)
  }
  override func _encode(_ slot: Int, _ writer: CDRuntime.RowWriter) {
    switch slot {
    case 0: writer.string(_name)
    case 3: writer.key(_spouse)
    default: super._encode(slot, writer)
    }
  }
  override func _setReference(_ slot: Int, _ key: CDRuntime.ObjectKey) {
    switch slot {
    case 3: _spouse = key
    default: super._setReference(slot, key)
    }
  }
}

nonisolated final class Review: CDRuntime.ManagedObject, CDRuntime.EntityClass {
  private final var _stars: Int16 = 0
  private final var _text: String? = nil
  private final var _book: CDRuntime.ObjectKey = 0
  final var stars: Int16 {
    get {
      _willRead()
      return _stars
    }
    set {
      _willWrite(0)
      _stars = newValue
    }
  }
  final var text: String? {
    get {
      _willRead()
      return _text
    }
    set {
      _willWrite(1)
      _text = newValue
    }
  }
  final var book: Book? {
    get {
      _willRead()
      return _toOne(_book, 2)
    }
    set { _setToOne(newValue, 2) }
  }
  init(stars: Int16, in context: CDRuntime.ManagedObjectContext) {
    super.init(_seed: CDRuntime.ObjectSeed(inserting: "Review", in: context, isComplete: true))
    _stars = stars
  }
  override init(_seed: borrowing CDRuntime.ObjectSeed) { super.init(_seed: _seed) }
  override class var entityName: String { "Review" }
  override func _decode(_ row: CDRuntime.RowReader) {
    super._decode(row)
    _stars = row.int16(0)
    _text = row.optionalString(1)
    _book = row.key(2)
  }
  override func _encode(_ slot: Int, _ writer: CDRuntime.RowWriter) {
    switch slot {
    case 0: writer.int16(_stars)
    case 1: writer.optionalString(_text)
    case 2: writer.key(_book)
    default: super._encode(slot, writer)
    }
  }
  override func _setReference(_ slot: Int, _ key: CDRuntime.ObjectKey) {
    switch slot {
    case 2: _book = key
    default: super._setReference(slot, key)
    }
  }
}

nonisolated final class Tag: CDRuntime.ManagedObject, CDRuntime.EntityClass {
  private final var _name: String = ""
  final var name: String {
    get {
      _willRead()
      return _name
    }
    set {
      _willWrite(0)
      _name = newValue
    }
  }
  final var books: [Book] {
    get { _toMany(1) }
    set { _setToMany(newValue, 1) }
  }
  final func addToBooks(_ object: Book) { _add(object, 1) }
  final func insertIntoBooks(_ object: Book, at index: Int) { _insert(object, at: index, 1) }
  init(name: String, in context: CDRuntime.ManagedObjectContext) {
    super.init(_seed: CDRuntime.ObjectSeed(inserting: "Tag", in: context, isComplete: true))
    _name = name
  }
  override init(_seed: borrowing CDRuntime.ObjectSeed) { super.init(_seed: _seed) }
  override class var entityName: String { "Tag" }
  override func _decode(_ row: CDRuntime.RowReader) {
    super._decode(row)
    _name = row.string(0)
  }
  override func _encode(_ slot: Int, _ writer: CDRuntime.RowWriter) {
    switch slot {
    case 0: writer.string(_name)
    default: super._encode(slot, writer)
    }
  }
}

nonisolated final class Shelf: CDRuntime.ManagedObject, CDRuntime.EntityClass {
  private final var _label: String? = nil
  private final var _favourite: CDRuntime.ObjectKey = 0
  final var label: String? {
    get {
      _willRead()
      return _label
    }
    set {
      _willWrite(0)
      _label = newValue
    }
  }
  final var favourite: Book? {
    get {
      _willRead()
      return _toOne(_favourite, 1)
    }
    set { _setToOne(newValue, 1) }
  }
  final var books: [Book] {
    get { _toMany(2) }
    set { _setToMany(newValue, 2) }
  }
  final func addToBooks(_ object: Book) { _add(object, 2) }
  init(in context: CDRuntime.ManagedObjectContext) {
    super.init(_seed: CDRuntime.ObjectSeed(inserting: "Shelf", in: context))
  }
  override init(_seed: borrowing CDRuntime.ObjectSeed) { super.init(_seed: _seed) }
  override class var entityName: String { "Shelf" }
  override func _decode(_ row: CDRuntime.RowReader) {
    super._decode(row)
    _label = row.optionalString(0)
    _favourite = row.key(1)
  }
  override func _encode(_ slot: Int, _ writer: CDRuntime.RowWriter) {
    switch slot {
    case 0: writer.optionalString(_label)
    case 1: writer.key(_favourite)
    default: super._encode(slot, writer)
    }
  }
  override func _setReference(_ slot: Int, _ key: CDRuntime.ObjectKey) {
    switch slot {
    case 1: _favourite = key
    default: super._setReference(slot, key)
    }
  }
}

nonisolated extension CDRuntime.Fields where Root: Publication {
  var title: CDRuntime.Attribute<String> { .init("title") }
  var author: CDRuntime.ToOne<Author> { .init("author") }
}
nonisolated extension CDRuntime.Fields where Root: Book {
  var isbn: CDRuntime.Attribute<String> { .init("isbn") }
  var salesRank: CDRuntime.Attribute<Int64?> { .init("salesRank") }
  var priority: CDRuntime.Attribute<Priority> { .init("priority") }
  var price: CDRuntime.Attribute<Decimal> { .init("price") }
  var shippedTo: CDRuntime.CompositeField<Address?> { .init("shippedTo") }
  var reviews: CDRuntime.ToMany<Review> { .init("reviews") }
  var tags: CDRuntime.ToMany<Tag> { .init("tags") }
  var sequel: CDRuntime.ToOne<Book> { .init("sequel") }
  var prequel: CDRuntime.ToOne<Book> { .init("prequel") }
}
nonisolated extension CDRuntime.Fields where Root: Author {
  var name: CDRuntime.Attribute<String> { .init("name") }
  var publications: CDRuntime.ToMany<Publication> { .init("publications") }
  var friends: CDRuntime.ToMany<Author> { .init("friends") }
  var spouse: CDRuntime.ToOne<Author> { .init("spouse") }
}
nonisolated extension CDRuntime.Fields where Root: Review {
  var stars: CDRuntime.Attribute<Int16> { .init("stars") }
  var text: CDRuntime.Attribute<String?> { .init("text") }
  var book: CDRuntime.ToOne<Book> { .init("book") }
}
nonisolated extension CDRuntime.Fields where Root: Tag {
  var name: CDRuntime.Attribute<String> { .init("name") }
}
nonisolated extension CDRuntime.AttributeKey where Root: Publication {
  static var title: Self { .init("title") }
}
nonisolated extension CDRuntime.AttributeKey where Root: Book {
  static var isbn: Self { .init("isbn") }
  static var salesRank: Self { .init("salesRank") }
}
nonisolated extension CDRuntime.EntityClass where Self: Book {
  static func object(isbn: String, in context: CDRuntime.ManagedObjectContext) throws -> Self? {
    try _object(unique: ["isbn"], [_constant(isbn)], in: context)
  }
  static func bestsellers(
    atMost: Int64, in context: CDRuntime.ManagedObjectContext
  ) throws -> [Self] {
    try _fetch(template: "bestsellers", of: "Book", ["atMost": _constant(atMost)], in: context)
  }
}

nonisolated enum LibraryModel: CDRuntime.GeneratedModel {
  static let _definition = CDRuntime.ModelDefinition(
    format: CDRuntime.GeneratedCodeFormat1.self,
    classes: [
      "Publication": CDRuntime.GeneratedClass(Publication.self) { Publication(_seed: $0) },
      "Book": CDRuntime.GeneratedClass(Book.self) { Book(_seed: $0) },
      "Magazine": CDRuntime.GeneratedClass(Magazine.self) { Magazine(_seed: $0) },
      "Author": CDRuntime.GeneratedClass(Author.self) { Author(_seed: $0) },
      "Review": CDRuntime.GeneratedClass(Review.self) { Review(_seed: $0) },
      "Tag": CDRuntime.GeneratedClass(Tag.self) { Tag(_seed: $0) },
      "Shelf": CDRuntime.GeneratedClass(Shelf.self) { Shelf(_seed: $0) },
    ],
    canonicalJSON: LibraryDescription.model.canonicalJSON)
}
