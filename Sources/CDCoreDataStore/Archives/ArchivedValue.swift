import CDModel
import CDPropertyList

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Converts a value that a transformer of Core Data has archived to JSON: lists, sets and dictionaries of plain values.
///
/// The format of a keyed archive was determined from real files. `$objects` lists all objects, which refer to each
/// other by their indexes in that list.
struct ArchivedValue {
  private let objects: [PropertyListValue]
  /// The number of objects that may still be read. Objects may refer to shared objects, so reading a small archive
  /// without a limit could take forever.
  private var budget: Int
  /// The number of bytes that the texts and data of the value may still have. Many references to one long text would
  /// otherwise give a value whose size is the square of the archive's size.
  private var textBudget: Int

  private init(_ objects: [PropertyListValue], bytes: Int) {
    self.objects = objects
    budget = bytes
    textBudget = max(1 << 20, 64 * bytes)
  }

  /// Returns the JSON of a codable attribute's value.
  ///
  /// - Parameters:
  ///   - bytes: A keyed archive, or JSON, which some transformers write.
  ///   - type: The attribute's type in Swift, such as `[String]`.
  /// - Returns: Nil if the bytes are neither, or contain a value of another type.
  static func json(_ bytes: [UInt8], type: String) -> String? {
    let shape = CodableShape(type)
    guard bytes.starts(with: "bplist00".utf8) else { return written(bytes, shape) }
    guard let shape, let root = BinaryPropertyList.read(bytes),
      case .list(let objects)? = root["$objects"], case .dictionary(let top)? = root["$top"],
      let first = top["root"] ?? top.values.first
    else { return nil }
    var archive = ArchivedValue(objects, bytes: bytes.count)
    return archive.json(first, shape, depth: 0)?.canonicalText
  }

  /// The JSON that a transformer wrote, without white space. All digits stay, because a Decimal or a UInt64 may need them.
  ///
  /// - Parameter shape: The structure of the type; nil for a type whose values only the app knows.
  private static func written(_ bytes: [UInt8], _ shape: CodableShape?) -> String? {
    guard let value = try? JSONValue(parsing: bytes, roundsIntegers: true),
      shape.map({ fits(value, $0) }) ?? true
    else { return nil }
    var isInString = false
    var isEscaped = false
    let text = bytes.filter { byte in
      let isSpace = byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
      guard isInString || !isSpace else { return false }
      if byte == UInt8(ascii: "\""), !isEscaped { isInString.toggle() }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      return true
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Whether JSON has the structure of a type.
  private static func fits(_ value: JSONValue, _ shape: CodableShape) -> Bool {
    switch (shape, value) {
    case (.list(let element), .array(let elements)):
      return elements.allSatisfy { fits($0, element) }
    case (.dictionary(let key, let element), .object(let members)):
      // Only a type of the app, which any value fits, may also have keys that Swift writes as texts.
      guard key.isNameLike || fits(.null, key) else { return false }
      return members.allSatisfy { member in
        (key != .plain("Int") || Int(member.key) != nil) && fits(member.value, element)
      }
    case (.dictionary(let key, let element), .array(let elements)):
      return !key.isNameLike && elements.count.isMultiple(of: 2)
        && elements.enumerated().allSatisfy { place, each in
          fits(each, place.isMultiple(of: 2) ? key : element)
        }
    case (.plain(let type), _): return isPlain(value, type)
    default: return false
    }
  }

  /// Whether JSON is a value of a plain type. A type of any other name is one of the app, which may have any value.
  private static func isPlain(_ value: JSONValue, _ type: String) -> Bool {
    switch (type, value) {
    case ("String", .string), ("Bool", .bool): return true
    case ("Data", .string(let text)): return Data(base64Encoded: text) != nil
    case ("UUID", .string(let text)): return UUID(uuidString: text) != nil
    case ("URL", .string(let text)): return URL(string: text) != nil
    case ("String", _), ("Bool", _), ("Data", _), ("UUID", _), ("URL", _): return false
    case ("Float", _), ("Double", _), ("Decimal", _), ("Date", _):
      switch value {
      case .int, .double: return true
      default: return false
      }
    case (_, .int(let number)): return isInteger(number, type) ?? true
    // The parser gives integers beyond Int64 as Doubles.
    case ("UInt", .double(let number)), ("UInt64", .double(let number)):
      return (0...0x1p64).contains(number) && number == number.rounded()
    case (_, .double(let number)):
      if let whole = Int64(exactly: number) { return isInteger(whole, type) ?? true }
      return isInteger(0, type) == nil
    default: return isInteger(0, type) == nil
    }
  }

  private func object(_ value: PropertyListValue) -> PropertyListValue? {
    guard case .reference(let place) = value else { return value }
    return objects.indices.contains(place) ? objects[place] : nil
  }

  private mutating func json(_ value: PropertyListValue, _ shape: CodableShape, depth: Int) -> JSONValue? {
    budget -= 1
    guard budget > 0, depth < 32, let value = object(value) else { return nil }
    switch shape {
    case .list(let element):
      // A dictionary has `NS.objects`, too. As a list it would lose its keys.
      guard value["NS.keys"] == nil, let members = members("NS.objects", of: value) else { return nil }
      return list(members, element, depth: depth)
    case .dictionary(let key, let element):
      guard let keys = members("NS.keys", of: value), let values = members("NS.objects", of: value),
        keys.count == values.count
      else { return nil }
      return dictionary(keys, values, key, element, depth: depth)
    case .plain(let type):
      let result = plain(value, type)
      if case .string(let text)? = result { textBudget -= text.utf8.count }
      return textBudget >= 0 ? result : nil
    }
  }

  private func members(_ key: String, of value: PropertyListValue) -> [PropertyListValue]? {
    guard let found = value[key].flatMap(object), case .list(let members) = found else { return nil }
    return members
  }

  private mutating func list(
    _ members: [PropertyListValue], _ element: CodableShape, depth: Int
  ) -> JSONValue? {
    var result: [JSONValue] = []
    for member in members {
      guard let value = json(member, element, depth: depth + 1) else { return nil }
      result.append(value)
    }
    return .array(result)
  }

  private mutating func dictionary(
    _ keys: [PropertyListValue], _ values: [PropertyListValue], _ key: CodableShape, _ element: CodableShape,
    depth: Int
  ) -> JSONValue? {
    var members: [JSONValue.Member] = []
    var pairs: [JSONValue] = []
    for (archivedKey, archivedValue) in zip(keys, values) {
      guard let name = json(archivedKey, key, depth: depth + 1),
        let value = json(archivedValue, element, depth: depth + 1)
      else { return nil }
      switch (key, name) {
      case (.plain("String"), .string(let text)): members.append(JSONValue.Member(text, value))
      case (.plain("Int"), .int(let number)): members.append(JSONValue.Member(String(number), value))
      // Swift writes a dictionary with keys of any other type as a list of keys and values.
      default: pairs += [name, value]
      }
    }
    return key.isNameLike ? .object(members) : .array(pairs)
  }

  // MARK: Plain values

  private mutating func plain(_ value: PropertyListValue, _ type: String) -> JSONValue? {
    switch type {
    case "String":
      if case .string(let text) = value, text != "$null" { return .string(text) }
      if case .string(let text)? = value["NS.string"].flatMap(object) { return .string(text) }
      return nil
    case "Bool":
      switch value {
      case .bool(let flag): return .bool(flag)
      case .int(0), .int(1): return .bool(value == .int(1))
      default: return nil
      }
    case "Float", "Double", "Decimal": return number(value)
    case "Date":
      if case .date(let seconds) = value { return .double(seconds) }
      if case .real(let seconds)? = value["NS.time"].flatMap(object) { return .double(seconds) }
      return nil
    case "Data":
      if case .data(let bytes) = value { return .string(Data(bytes).base64EncodedString()) }
      if case .data(let bytes)? = value["NS.data"].flatMap(object) {
        return .string(Data(bytes).base64EncodedString())
      }
      return nil
    case "UUID":
      guard case .data(let bytes)? = value["NS.uuidbytes"].flatMap(object), bytes.count == 16 else {
        return nil
      }
      return .string(Self.uuid(bytes))
    case "URL":
      return url(value, depth: 0).map(JSONValue.string)
    default: return integer(value, type)
    }
  }

  /// The absolute text of a URL, whose base is an archived URL, too.
  private mutating func url(_ value: PropertyListValue, depth: Int) -> String? {
    // In a hostile archive, bases may form a circle, and many URLs may have one long base.
    guard depth < 32, textBudget >= 0, case .string(let text)? = value["NS.relative"].flatMap(object),
      text != "$null"
    else { return nil }
    guard let base = value["NS.base"].flatMap(object), base != .null, base != .string("$null") else {
      return text
    }
    guard let above = url(base, depth: depth + 1), let absolute = URL(string: above) else { return nil }
    textBudget -= text.utf8.count + above.utf8.count
    return URL(string: text, relativeTo: absolute)?.absoluteString
  }

  private func number(_ value: PropertyListValue) -> JSONValue? {
    switch value {
    case .int(let number): .int(number)
    case .real(let number): number.isFinite ? .double(number) : nil
    default: nil
    }
  }

  private func integer(_ value: PropertyListValue, _ type: String) -> JSONValue? {
    guard case .int(let number) = value else { return nil }
    return Self.isInteger(number, type) == true ? .int(number) : nil
  }

  /// Whether an integer type has a number; nil if the type is not an integer type.
  private static func isInteger(_ number: Int64, _ type: String) -> Bool? {
    switch type {
    case "Int", "Int64": true
    case "Int8": Int8(exactly: number) != nil
    case "Int16": Int16(exactly: number) != nil
    case "Int32": Int32(exactly: number) != nil
    case "UInt", "UInt64": number >= 0
    case "UInt8": UInt8(exactly: number) != nil
    case "UInt16": UInt16(exactly: number) != nil
    case "UInt32": UInt32(exactly: number) != nil
    default: nil
    }
  }

  private static func uuid(_ bytes: [UInt8]) -> String {
    let digits = bytes.map { byte in
      let text = String(byte, radix: 16, uppercase: true)
      return byte < 16 ? "0" + text : text
    }
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }.joined(separator: "-")
  }
}
