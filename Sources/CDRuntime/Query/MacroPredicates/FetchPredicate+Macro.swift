public import CDModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension FetchPredicate {
  /// Creates the condition of a `#Predicate`, which gives the same result in memory and in a store.
  ///
  /// ```swift
  /// let condition = try FetchPredicate(#Predicate<Book> { $0.title == "Walden" && $0.reviewCount > 2 })
  /// print(condition)  // title == "Walden" AND reviewCount > 2
  /// ```
  ///
  /// The classes must know their key paths: set `keyPaths: true` in `model.yaml`. These constructs can be translated:
  /// comparisons, `&&`, `||`, `!`, arithmetic, `??`, optional chaining, `?:`, ranges, `contains`, `starts(with:)`,
  /// `allSatisfy`, `filter`, `min()`, `max()`, `count` and `isEmpty` of collections, regular expressions, and other
  /// objects by their ``ManagedObject/objectID``. A forced unwrap (`!`) is ignored: nil meets only a comparison with
  /// nil.
  ///
  /// The results are those of Foundation, except for some texts. After `?` or in `flatMap`, an expression on nil is nil.
  /// Each text contains the empty text, unlike in a format string.
  ///
  /// Foundation compares texts by their characters. Here, texts are equal only if their code units are equal, and `<`
  /// compares code units. A composed and a decomposed character are therefore different and have different places in
  /// the order. A search finds a line feed in CR LF, which is one character in Foundation.
  ///
  /// - Throws: ``PredicateTranslationError``, which names the construct that cannot be translated.
  public init<Object: EntityClass>(_ predicate: Predicate<Object>) throws {
    var translator = PredicateTranslator()
    self = try translator.condition(of: predicate, standingFor: .object)
  }
}

extension TypedPredicate where Root: EntityClass {
  /// Creates the condition of a `#Predicate`, which you can combine with conditions on key paths.
  ///
  /// - Throws: ``PredicateTranslationError``, which names the construct that cannot be translated.
  public init(_ predicate: Predicate<Root>) throws {
    try self.init(FetchPredicate(predicate))
  }
}

extension EntityClass {
  /// Returns the objects that meet a `#Predicate`, in the given order.
  ///
  /// ```swift
  /// let books = try Book.fetch(where: #Predicate { $0.reviewCount > 2 }, sortedBy: [.ascending(\.title)], in: context)
  /// ```
  ///
  /// - Throws: ``PredicateTranslationError``, ``FetchError`` or ``StoreError``.
  public static func fetch(
    where predicate: Predicate<Self>, sortedBy order: TypedSort<Self> = [], limit: Int? = nil,
    offset: Int = 0,
    in context: ManagedObjectContext
  ) throws -> [Self] {
    try fetch(where: TypedPredicate(predicate), sortedBy: order, limit: limit, offset: offset, in: context)
  }

  /// Returns the number of objects that meet a `#Predicate`.
  ///
  /// - Throws: ``PredicateTranslationError``, ``FetchError`` or ``StoreError``.
  public static func count(where predicate: Predicate<Self>, in context: ManagedObjectContext) throws -> Int {
    try count(where: TypedPredicate(predicate), in: context)
  }
}
