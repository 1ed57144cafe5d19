#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension FormatLexer {
  /// A specifier, from its `%` on, with the next argument.
  mutating func scanSpecifier() throws(FormatError) -> FormatToken.Kind {
    let start = position
    position += 1
    while isLengthModifier(byte()) { position += 1 }
    let conversion = byte()
    let isModified = position > start + 1
    guard FormatConversion(conversion) != nil, !isModified || FormatLexer.isLetter(conversion) else {
      position = start + 1
      return .invalid
    }
    position += 1
    let specifier = text(start, position)
    guard nextArgument < arguments.count else {
      throw error(at: start, "\(specifier) has no argument: \(arguments.count) given")
    }
    let constant = arguments[nextArgument]?.expressionConstant ?? .null
    nextArgument += 1
    switch FormatConversion(conversion) {
    case .keyPath:
      guard case .value(.string(let path)) = constant else {
        throw mismatch(specifier, "a key path as a string", at: start)
      }
      return .keyPath(path)
    case .object:
      guard constant.depth <= ValueExpression.maximumDepth else {
        throw error(
          at: start,
          "the argument has collections in collections, more than \(ValueExpression.maximumDepth) deep")
      }
      return .argument(constant)
    case .integer: return .argument(.value(.int(try integer(constant, specifier, at: start))))
    case .double: return .argument(.value(.double(try double(constant, specifier, at: start))))
    case .string:
      guard case .value(.string) = constant else { throw mismatch(specifier, "a string", at: start) }
      return .argument(constant)
    case .character:
      if case .value(.string(let text)) = constant, text.unicodeScalars.count == 1 {
        return .argument(constant)
      }
      return .argument(.value(.int(try integer(constant, specifier, at: start))))
    case nil: return .invalid
    }
  }

  private func integer(_ constant: ExpressionConstant, _ specifier: String, at start: Int) throws(FormatError)
    -> Int64
  {
    switch constant {
    case .value(.int(let number)): return number
    case .value(.bool(let flag)): return flag ? 1 : 0
    case .value(.double(let number)):
      if let whole = Int64(exactly: number) { return whole }
    default: break
    }
    throw mismatch(specifier, "an integer", at: start)
  }

  private func double(_ constant: ExpressionConstant, _ specifier: String, at start: Int) throws(FormatError)
    -> Double
  {
    switch constant {
    case .value(.double(let number)): return number
    case .value(.int(let number)): return Double(number)
    case .value(.decimal(let number)):
      if let value = Double(number.description) { return value }
    default: break
    }
    throw mismatch(specifier, "a number", at: start)
  }

  private func mismatch(_ specifier: String, _ wanted: String, at start: Int) -> FormatError {
    error(at: start, "\(specifier) takes \(wanted), and argument \(nextArgument) is another value")
  }

  private func isLengthModifier(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "h"), UInt8(ascii: "l"), UInt8(ascii: "q"), UInt8(ascii: "L"), UInt8(ascii: "z"): true
    default: false
    }
  }
}

/// What a specifier does with its argument.
private enum FormatConversion {
  case object, keyPath, integer, double, string, character

  init?(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "@"): self = .object
    case UInt8(ascii: "K"): self = .keyPath
    case UInt8(ascii: "d"), UInt8(ascii: "D"), UInt8(ascii: "i"), UInt8(ascii: "u"), UInt8(ascii: "U"),
      UInt8(ascii: "o"), UInt8(ascii: "O"), UInt8(ascii: "x"), UInt8(ascii: "X"), UInt8(ascii: "p"):
      self = .integer
    case UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "f"), UInt8(ascii: "F"), UInt8(ascii: "g"),
      UInt8(ascii: "G"), UInt8(ascii: "a"), UInt8(ascii: "A"):
      self = .double
    case UInt8(ascii: "s"), UInt8(ascii: "S"): self = .string
    case UInt8(ascii: "c"), UInt8(ascii: "C"): self = .character
    default: return nil
    }
  }
}
