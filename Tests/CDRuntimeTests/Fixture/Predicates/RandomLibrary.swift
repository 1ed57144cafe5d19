import Foundation
import SeededRandom

@testable import CDRuntime

/// Random objects of ``PredicateModel``, in memory and in a store.
final class RandomLibrary {
  let rows: StoredRows
  private(set) var objects: [RandomObject] = []

  static let bookTypes: [String: AttributeType] = [
    "title": .string, "pages": .int16, "sold": .int64, "rating": .double, "weight": .float,
    "price": .decimal, "isNew": .bool, "added": .date, "cover": .data, "code": .uuid, "level": .int16,
  ]

  init(_ random: inout SplitMix) throws {
    rows = try StoredRows(PredicateModel.version)
    var authors: [RandomObject] = []
    for key in 1...8 {
      let author = RandomObject("Author", Int64(key))
      author.values["name"] = RandomValues.value(.string, &random, canBeNull: true)
      author.values["age"] = RandomValues.value(.int16, &random, canBeNull: true)
      authors.append(author)
    }
    for author in authors where Bool.random(using: &random) {
      author.toOne["mentor"] = authors.randomElement(using: &random)
    }
    let tags = (1...5).map { key in
      let tag = RandomObject("Tag", Int64(key))
      tag.values["word"] = RandomValues.value(.string, &random, canBeNull: true)
      return tag
    }
    var books: [RandomObject] = []
    for key in 1...30 {
      let book = RandomObject("Book", Int64(key))
      for (name, type) in Self.bookTypes.sorted(by: { $0.key < $1.key }) {
        book.values[name] = RandomValues.value(type, &random, canBeNull: name != "title")
      }
      book.place = [
        "city": RandomValues.value(.string, &random, canBeNull: true),
        "floor": RandomValues.value(.int16, &random, canBeNull: true),
      ]
      if Int.random(in: 0..<4, using: &random) > 0 {
        book.toOne["author"] = authors.randomElement(using: &random)
      }
      book.toMany["tags"] = tags.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
      books.append(book)
    }
    for author in authors { author.toMany["books"] = books.filter { $0.toOne["author"] === author } }
    for tag in tags {
      tag.toMany["books"] = books.filter { $0.toMany["tags"]?.contains { $0 === tag } == true }
    }
    objects = authors + books + tags
    try store()
  }

  private func store() throws {
    var inserted: [(table: String, values: [String: AttributeValue])] = []
    for object in objects {
      var values = object.values
      values["_pk"] = .int(object.key)
      values["_version"] = .int(1)
      switch object.entity {
      case "Book":
        values["_entity"] = .string("Book")
        values["author"] = object.toOne["author"].map { .int($0.key) } ?? .null
        values["place.city"] = object.place["city"]
        values["place.floor"] = object.place["floor"]
        inserted.append(("Item", values))
        for tag in object.toMany["tags"] ?? [] {
          inserted.append(("Book.tags", ["_source": .int(object.key), "_target": .int(tag.key)]))
        }
      case "Author":
        values["mentor"] = object.toOne["mentor"].map { .int($0.key) } ?? .null
        inserted.append(("Author", values))
      default: inserted.append(("Tag", values))
      }
    }
    try rows.insert(inserted)
  }
}

/// An object in memory.
final class RandomObject: EvaluationSubject {
  let entity: String
  let key: Int64
  var values: [String: AttributeValue] = [:]
  var place: [String: AttributeValue] = [:]
  var toOne: [String: RandomObject] = [:]
  var toMany: [String: [RandomObject]] = [:]

  init(_ entity: String, _ key: Int64) {
    self.entity = entity
    self.key = key
  }

  func evaluationValue(forKey key: String) throws(EvaluationError) -> EvaluationValue {
    if key == "weight", case .double(let number)? = values[key] { return .float(Float(number)) }
    if let value = values[key] { return .value(value) }
    if key == "place" { return .dictionary(place.mapValues(EvaluationValue.value)) }
    if key == "author" || key == "mentor" { return toOne[key].map { .subject($0) } ?? .null }
    if let objects = toMany[key] { return .collection(objects.map { .subject($0) }) }
    throw .unknownKey(key, entity: entity)
  }

  /// The entity tells objects of one key apart.
  var evaluationIdentity: ObjectReference? { ObjectReference(entity: entity, uri: String(key)) }
}

/// Values from small sets, so that many are equal, with those on which implementations differ.
enum RandomValues {
  static let strings = [
    "", "a", "A", "b", "ab", "aB", "e", "é", "e\u{301}", "straße", "STRASSE", "İ", "i", "\u{FFFD}", "😀",
    "a\(StoreKind.ofEnvironment.zero)b",
    "\u{212A}", "K", "x*y", "100%",
  ]

  static func value(_ type: AttributeType, _ random: inout SplitMix, canBeNull: Bool) -> AttributeValue {
    if canBeNull, Int.random(in: 0..<4, using: &random) == 0 { return .null }
    func one<T>(_ values: [T], _ otherwise: T) -> T { values.randomElement(using: &random) ?? otherwise }
    switch type {
    case .string: return .string(one(strings, ""))
    case .int16: return .int(one([-3, -1, 0, 1, 2, 3, 7, 32767], 0))
    case .int64:
      return .int(one([Int64.min, -1, 0, 1, 2, 1 << 53, (1 << 53) + 1, Int64.max], 0))
    case .double: return .double(one([-1.5, -0.0, 0, 0.1, 1, 2, 9.99, 0x1p53, 1e300], 0))
    case .float: return .double(Double(one([-1.5, 0, 0.1, 1, 1.7, 2] as [Float], 0)))
    case .decimal:
      return .decimal(
        Decimal(string: one(["-1.5", "0", "0.1", "0.10", "1", "9.99", "10", "123.456"], "0")) ?? 0)
    case .bool: return .bool(Bool.random(using: &random))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: one([-1, 0, 0.5, 1, 100], 0)))
    case .data: return .data(one([Data(), Data([0]), Data([0, 1]), Data([255])], Data()))
    default:
      let byte = UInt8.random(in: 0..<4, using: &random)
      return .uuid(UUID(uuid: (byte, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200 - byte)))
    }
  }
}
