assert is_palindrome("level")
assert is_palindrome("Never odd or even")
assert not is_palindrome("sandbox")
