import CDModel

/// The keys by which strings are compared under options that ignore differences but do not depend on the locale. The key
/// of a string consists of the keys of its scalars, after each composed character was decomposed.
///
/// Foundation's own comparison is no order: if it ignores the case, each of `Ämter` and `Aéro` comes after the other. And
/// what it makes of a letter can depend on the marks behind it.
struct TextKeys: Sendable {
  /// The scalars of most texts.
  private static let commonScalars: Range<UInt32> = 0..<0x530

  private static let all: [TextKeys] = [
    TextKeys(.caseInsensitive), TextKeys(.diacriticInsensitive),
    TextKeys([.caseInsensitive, .diacriticInsensitive]),
  ]

  /// The keys under some options, of which one ignores the case or diacritics.
  static func keys(under options: ComparisonOptions) -> TextKeys {
    if !options.contains(.diacriticInsensitive) { return all[0] }
    return options.contains(.caseInsensitive) ? all[2] : all[1]
  }

  private let options: ComparisonOptions
  /// The keys of the common scalars, decomposed: at most three scalars of 21 bits each, the first of which has the lowest
  /// bits. It is 0 for marks, which can change their places.
  private let scalarKeys: [UInt64]

  private init(_ options: ComparisonOptions) {
    self.options = options
    scalarKeys = Self.commonScalars.map { value in
      guard value > 0, let scalar = Unicode.Scalar(value), !scalar.properties.isMark else { return 0 }
      let key = Self.key(String(scalar), options)
      return key.count > 3 ? 0 : key.reversed().reduce(0) { $0 << 21 | UInt64($1.value) }
    }
  }

  private static func key(_ text: String, _ options: ComparisonOptions) -> String.UnicodeScalarView {
    var key = String.UnicodeScalarView()
    var maker = TextKeyMaker(options)
    for scalar in FoundationText.decomposed(text).unicodeScalars { maker.append(scalar, to: &key) }
    return key
  }

  /// Returns a negative number, 0 or a positive number if the key of the left string comes before, equals or comes after
  /// the key of the right one.
  ///
  /// Most strings differ at common scalars. Then their order is known without their keys, which take longer to make.
  @_optimize(speed)
  func order(_ left: String, _ right: String) -> Int {
    var first = left.unicodeScalars.makeIterator()
    var second = right.unicodeScalars.makeIterator()
    // The parts of the current keys that have not been compared yet.
    var (one, other): (UInt64, UInt64) = (0, 0)
    while true {
      if one == 0, other == 0 {
        let (scalar, otherScalar) = (first.next(), second.next())
        if scalar == otherScalar {
          if scalar == nil { return 0 }
          // Equal beginnings have equal keys, whatever follows.
          continue
        }
        one = scalar.map(commonKey) ?? 0
        other = otherScalar.map(commonKey) ?? 0
        if scalar == nil, other != 0 { return -1 }
        if otherScalar == nil, one != 0 { return 1 }
        if one == 0 || other == 0 { return orderOfKeys(left, right) }
      } else if one == 0 {
        guard let scalar = first.next() else { return -1 }
        one = commonKey(scalar)
        if one == 0 { return orderOfKeys(left, right) }
      } else if other == 0 {
        guard let scalar = second.next() else { return 1 }
        other = commonKey(scalar)
        if other == 0 { return orderOfKeys(left, right) }
      }
      // The order of scalars is the order of their code units.
      let (low, high) = (one & 0x1F_FFFF, other & 0x1F_FFFF)
      if low != high {
        if isBeforeMark(first) || isBeforeMark(second) { return orderOfKeys(left, right) }
        return low < high ? -1 : 1
      }
      one >>= 21
      other >>= 21
    }
  }

  /// Compares the keys of any strings.
  func orderOfKeys(_ left: String, _ right: String) -> Int {
    CodeUnits.order(String(Self.key(left, options)), String(Self.key(right, options)))
  }

  /// The key of a common scalar; 0 for any other.
  @inline(__always)
  private func commonKey(_ scalar: Unicode.Scalar) -> UInt64 {
    scalar.value < scalarKeys.count ? scalarKeys[Int(scalar.value)] : 0
  }

  /// Whether the next scalar is a mark. The marks of a letter are ordered, and may form one character with it.
  private func isBeforeMark(_ scalars: String.UnicodeScalarView.Iterator) -> Bool {
    var rest = scalars
    guard let scalar = rest.next() else { return false }
    return commonKey(scalar) == 0 && scalar.properties.isMark
  }
}

/// Makes the key of a string from its scalars, one after the other. They are decomposed and in the canonical order, so
/// that canonically equivalent strings have the same key.
struct TextKeyMaker {
  /// The first scalar whose marks are never diacritics, as Foundation has it: the marks of `が` or of Hindi are parts of
  /// letters.
  private static let firstWithoutDiacritics: UInt32 = 0x510

  private let options: ComparisonOptions
  /// Whether the marks behind the last letter are diacritics that the options ignore.
  private var hasDiacritics = false

  init(_ options: ComparisonOptions) { self.options = options }

  /// Appends the key of the next scalar, which is empty for a mark that the options ignore.
  mutating func append(_ scalar: Unicode.Scalar, to key: inout String.UnicodeScalarView) {
    if let part = asciiKey(scalar) { return key.append(part) }
    let properties = scalar.properties
    if properties.isMark {
      if hasDiacritics, Self.isIgnored(scalar) { return }
    } else {
      hasDiacritics =
        options.contains(.diacriticInsensitive) && scalar.value < Self.firstWithoutDiacritics
    }
    if options.contains(.caseInsensitive), properties.changesWhenCaseFolded {
      let folded = FoundationText.folded(String(scalar), .caseInsensitive)
      key.append(contentsOf: FoundationText.decomposed(folded).unicodeScalars)
    } else {
      key.append(scalar)
    }
  }

  /// Returns the key of the next scalar if it is ASCII, and nil otherwise. ASCII has no marks, and is folded without
  /// Foundation, because most letters of most texts are ASCII.
  @inline(__always)
  mutating func asciiKey(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
    guard scalar.isASCII else { return nil }
    hasDiacritics = options.contains(.diacriticInsensitive)
    if !options.contains(.caseInsensitive) { return scalar }
    return Unicode.Scalar(TextComparison.lowercased(UInt8(truncatingIfNeeded: scalar.value)))
  }

  /// Whether a mark is a diacritic.
  private static func isIgnored(_ mark: Unicode.Scalar) -> Bool {
    FoundationText.folded("a" + String(mark), .diacriticInsensitive) == "a"
  }
}

extension Unicode.Scalar.Properties {
  /// Whether the scalar is a mark of the letter before it.
  var isMark: Bool {
    [.nonspacingMark, .enclosingMark, .spacingMark].contains(generalCategory)
      || canonicalCombiningClass != .notReordered
  }
}
