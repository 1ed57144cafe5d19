/// A JSON value and the way to it, so that errors can name the element.
package struct JSONElement {
  package let value: JSONValue
  package let path: JSONPath

  package init(_ value: JSONValue, path: JSONPath = .root) {
    self.value = value
    self.path = path
  }

  @inline(never)
  package func error(_ reason: ModelDecodingError.Reason) -> ModelDecodingError {
    ModelDecodingError(reason, path: path.description)
  }

  @inline(never)
  package func wrongKind(_ expected: String) -> ModelDecodingError {
    error(.wrongKind(expected: expected, found: value.kindName))
  }

  @inline(never)
  package func string() throws(ModelDecodingError) -> String {
    guard case .string(let result) = value else { throw wrongKind("a string") }
    return result
  }

  @inline(never)
  package func bool() throws(ModelDecodingError) -> Bool {
    guard case .bool(let result) = value else { throw wrongKind("a Boolean") }
    return result
  }

  @inline(never)
  package func int() throws(ModelDecodingError) -> Int {
    guard case .int(let number) = value else { throw wrongKind("an integer") }
    guard let result = Int(exactly: number) else {
      throw error(.invalidValue(found: String(number), expected: "an integer of \(Int.bitWidth) bits"))
    }
    return result
  }

  /// One of a type's words.
  @inline(never)
  package func word<Word: RawRepresentable<String> & CaseIterable>() throws(ModelDecodingError) -> Word {
    let text = try string()
    guard let word = Word(rawValue: text) else {
      let words = Word.allCases.map(\.rawValue).joined(separator: ", ")
      throw error(.invalidValue(found: text, expected: "one of " + words))
    }
    return word
  }

  @inline(never)
  package func object() throws(ModelDecodingError) -> JSONObjectReader {
    guard case .object(let members) = value else { throw wrongKind("an object") }
    return JSONObjectReader(members, path: path)
  }

  @inline(never)
  package func list<Element>(
    _ decode: (JSONElement) throws(ModelDecodingError) -> Element
  ) throws(ModelDecodingError) -> [Element] {
    guard case .array(let elements) = value else { throw wrongKind("a list") }
    var result: [Element] = []
    result.reserveCapacity(elements.count)
    for (place, element) in elements.enumerated() {
      result.append(try decode(JSONElement(element, path: .element(path, place))))
    }
    return result
  }
}

/// The way from the outermost value to an inner one.
package indirect enum JSONPath: CustomStringConvertible {
  case root
  case member(JSONPath, String)
  case element(JSONPath, Int)

  package var description: String {
    switch self {
    case .root: ""
    case .member(.root, let name): name
    case .member(let outer, let name): "\(outer.description).\(name)"
    case .element(let outer, let place): "\(outer.description)[\(place)]"
    }
  }
}

/// Takes the members of an object one after the other and complains about those left.
///
/// What the encoder wrote is asked for in the same order, so that a member is nearly always the next one.
package struct JSONObjectReader {
  private let members: [JSONValue.Member]
  private var isTaken: [Bool]
  /// All members before this one have been taken.
  private var first = 0
  package let path: JSONPath

  package init(_ members: [JSONValue.Member], path: JSONPath) {
    self.members = members
    self.path = path
    isTaken = [Bool](repeating: false, count: members.count)
  }

  /// The element of a member, or nil where there is none.
  @inline(never)
  package mutating func optional(_ key: String) -> JSONElement? {
    for place in first..<members.count where !isTaken[place] && members[place].key == key {
      isTaken[place] = true
      while first < members.count, isTaken[first] { first += 1 }
      return JSONElement(members[place].value, path: .member(path, key))
    }
    return nil
  }

  @inline(never)
  package mutating func required(_ key: String) throws(ModelDecodingError) -> JSONElement {
    guard let element = optional(key) else {
      throw ModelDecodingError(.missingMember(key), path: path.description)
    }
    return element
  }

  @inline(never)
  package mutating func string(_ key: String) throws(ModelDecodingError) -> String? {
    try optional(key)?.string()
  }

  @inline(never)
  package mutating func int(_ key: String) throws(ModelDecodingError) -> Int? {
    try optional(key)?.int()
  }

  /// A Boolean that is false where it is left out.
  @inline(never)
  package mutating func flag(_ key: String) throws(ModelDecodingError) -> Bool {
    try optional(key)?.bool() ?? false
  }

  /// A list that is empty where it is left out.
  @inline(never)
  package mutating func list<Element>(
    _ key: String, _ decode: (JSONElement) throws(ModelDecodingError) -> Element
  ) throws(ModelDecodingError) -> [Element] {
    try optional(key)?.list(decode) ?? []
  }

  /// Free keys and values; empty where they are left out.
  @inline(never)
  package mutating func dictionary(_ key: String) throws(ModelDecodingError) -> [String: String] {
    guard let element = optional(key) else { return [:] }
    guard case .object(let members) = element.value else { throw element.wrongKind("an object") }
    var result: [String: String] = [:]
    for member in members {
      let value = JSONElement(member.value, path: .member(element.path, member.key))
      guard result.updateValue(try value.string(), forKey: member.key) == nil else {
        throw value.error(.invalidValue(found: member.key, expected: "keys that come once"))
      }
    }
    return result
  }

  /// To be called when all known members have been asked for.
  @inline(never)
  package func finish() throws(ModelDecodingError) {
    guard first < members.count else { return }
    throw ModelDecodingError(.unknownMember(members[first].key), path: path.description)
  }
}
